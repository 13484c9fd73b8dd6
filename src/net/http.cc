#include "net/http.h"

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "formats/base/error.h"
#include "net/curl.h"
#include "net/retry.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// While nothing comes it is asked so often whether something is still wanted.
constexpr milliseconds kLook{100};
constexpr size_t kMostHeaderBytes = 64 << 10;
constexpr curl_off_t kLongestRetryAfter = 3600;
constexpr char kTooLate[] = "the deadline came";

template <class T, class Free>
std::unique_ptr<T, Free> owned(T* what, Free free) {
  if (!what) throw EnvironmentError("libcurl has no memory");
  return {what, free};
}

// A request under way, for libcurl's callbacks.
struct Transfer {
  const HttpTransport::Take& take;
  CURL* const easy;
  HttpHead head;
  size_t header_bytes = 0;
  bool wanted = true;
  std::exception_ptr thrown;  // by `take`: none may pass through libcurl
};

void read_head(Transfer& transfer) {
  long status = 0;
  const char* type = nullptr;
  curl_off_t wait = 0;
  curl().easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  curl().easy_getinfo(transfer.easy, CURLINFO_CONTENT_TYPE, &type);
  curl().easy_getinfo(transfer.easy, CURLINFO_RETRY_AFTER, &wait);
  transfer.head.status = static_cast<int>(status);
  if (type) transfer.head.content_type = type;
  if (wait > 0) transfer.head.retry_after = static_cast<double>(std::min(wait, kLongestRetryAfter));
}

void hand_on(Transfer& transfer, std::string_view bytes) {
  try {
    transfer.wanted = transfer.take(transfer.head, bytes);
  } catch (...) {
    transfer.thrown = std::current_exception();
    transfer.wanted = false;
  }
}

// What is not taken whole ends the transfer.
size_t on_header(const char* bytes, size_t size, size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  const std::string_view line(bytes, size * count);
  transfer.header_bytes += line.size();
  if (line == "\r\n" || line == "\n") {
    read_head(transfer);
    if (transfer.head.status < 200) transfer.head = {};  // "100 Continue": another head follows
  }
  return transfer.header_bytes > kMostHeaderBytes ? 0 : line.size();
}

size_t on_body(const char* bytes, size_t size, size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  if (transfer.head.status == 0) read_head(transfer);
  hand_on(transfer, {bytes, size * count});
  return transfer.wanted ? size * count : 0;
}

// The hosts that are asked without a proxy: those of $no_proxy, and this machine.
std::string hosts_without_proxy() {
  const char* given = std::getenv("no_proxy");
  if (!given) given = std::getenv("NO_PROXY");
  const std::string hosts = given ? given : "";
  return hosts == "*" ? hosts : hosts + ",localhost,127.0.0.1,::1";
}

// Returns the status with which a proxy refused to open a connection; 0: none did.
int refusal_of_proxy(const Transfer& transfer) {
  long status = 0;
  curl().easy_getinfo(transfer.easy, CURLINFO_HTTP_CONNECTCODE, &status);
  return transfer.head.status == 0 && status / 100 != 2 ? static_cast<int>(status) : 0;
}

std::string fault_of(const Transfer& transfer, CURLcode code, const std::string& words) {
  const std::string text = words.empty() ? curl().easy_strerror(code) : words;
  if (code == CURLE_OK) return "";
  if (const int status = refusal_of_proxy(transfer)) {
    return "the proxy answers " + std::to_string(status);
  }
  if (transfer.header_bytes > kMostHeaderBytes) return "its headers are too long";
  if (code == CURLE_PEER_FAILED_VERIFICATION) return "its certificate is not accepted: " + text;
  return text;
}

bool is_permanent(const Transfer& transfer, CURLcode code) {
  const int refusal = refusal_of_proxy(transfer);
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CIPHER ||
         code == CURLE_UNSUPPORTED_PROTOCOL || (refusal != 0 && !may_pass(refusal));
}

bool is_connected(const Transfer& transfer) {
  double seconds = 0;  // until the request could be sent
  curl().easy_getinfo(transfer.easy, CURLINFO_PRETRANSFER_TIME, &seconds);
  return seconds > 0;
}

class CurlTransport : public HttpTransport {
 public:
  CurlTransport(std::string path, milliseconds connect_patience)
      : path_(std::move(path)), connect_patience_(connect_patience) {
    curl();
  }

  HttpResult post(const std::string& url, const HttpHeaders& headers, const std::string& body,
                  Clock::time_point deadline, const Take& take) override {
    const Curl& lib = curl();
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds(0)) return {{}, kTooLate, true};
    const auto lines = lines_of(headers);
    char words[CURL_ERROR_SIZE] = "";
    const auto multi = owned(lib.multi_init(), lib.multi_cleanup);
    const auto easy = owned(lib.easy_init(), lib.easy_cleanup);
    Transfer transfer{take, easy.get()};
    const auto set = [&](CURLoption option, auto value) {
      lib.easy_setopt(easy.get(), option, value);
    };
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_HTTPHEADER, lines.get());
    set(CURLOPT_POSTFIELDS, body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(left, connect_patience_).count()));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_ERRORBUFFER, words);
    set(CURLOPT_HEADERFUNCTION, on_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, on_body);
    set(CURLOPT_WRITEDATA, &transfer);
    set_route(set);
    set_trust(set);
#if LIBCURL_VERSION_NUM >= 0x075700
    set(CURLOPT_QUICK_EXIT, 1L);  // a name that is still looked up is not waited for
#endif
    const CURLcode code = run(multi.get(), transfer);
    if (transfer.thrown) std::rethrow_exception(transfer.thrown);
    if (transfer.head.status == 0) read_head(transfer);
    if (!transfer.wanted) return {transfer.head, "", false};
    // The machine's TCP has timeouts too, and libcurl's clock counts whole milliseconds.
    const bool late = code == CURLE_OPERATION_TIMEDOUT && Clock::now() + kLook >= deadline;
    return {transfer.head, late ? kTooLate : fault_of(transfer, code, words), late,
            is_permanent(transfer, code), is_connected(transfer)};
  }

 private:
  using Lines = std::unique_ptr<curl_slist, decltype(Curl::slist_free_all)>;
  static Lines lines_of(const HttpHeaders& headers) {
    Lines lines(nullptr, curl().slist_free_all);
    const auto add = [&](const std::string& line) {
      curl_slist* whole = curl().slist_append(lines.get(), line.c_str());
      if (!whole) throw EnvironmentError("libcurl has no memory");
      (void)lines.release();
      lines.reset(whole);
    };
    add("Connection: close");
    add("Expect:");  // else long bodies wait for the other side's "100 Continue"
    for (const auto& [name, value] : headers) add(name + ": " + value);
    return lines;
  }

  template <class Set>
  void set_route(const Set& set) const {
    if (path_.empty()) {
      set(CURLOPT_NOPROXY, hosts_without_proxy().c_str());
    } else {
      set(CURLOPT_UNIX_SOCKET_PATH, path_.c_str());
      set(CURLOPT_PROXY, "");
    }
  }

  // The machine's authorities, unless these variables say otherwise, as they do to OpenSSL.
  template <class Set>
  static void set_trust(const Set& set) {
    set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
    if (const char* file = std::getenv("SSL_CERT_FILE")) set(CURLOPT_CAINFO, file);
    if (const char* folder = std::getenv("SSL_CERT_DIR")) set(CURLOPT_CAPATH, folder);
  }

  // Until the transfer is over, or not wanted any more.
  static CURLcode run(CURLM* multi, Transfer& transfer) {
    const Curl& lib = curl();
    lib.multi_add_handle(multi, transfer.easy);
    for (int running = 1; transfer.wanted;) {
      if (lib.multi_perform(multi, &running) != CURLM_OK || running == 0) break;
      int ready = 0;
      lib.multi_poll(multi, nullptr, 0, static_cast<int>(kLook.count()), &ready);
      if (ready == 0) hand_on(transfer, "");
    }
    int left = 0;
    const CURLMsg* message = lib.multi_info_read(multi, &left);
    return message ? message->data.result : CURLE_FAILED_INIT;
  }

  const std::string path_;  // of a Unix-domain socket; empty: the addresses of the host
  const milliseconds connect_patience_;
};

}  // namespace

std::string checked_url(const std::string& text) {
  const Curl& lib = curl();
  const auto url = owned(lib.url(), lib.url_cleanup);
  const CURLUcode code = lib.url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER);
  if (code == CURLUE_USER_NOT_ALLOWED) throw InputError("the address names a user");
  char* whole = nullptr;
  if (code == CURLUE_OK) lib.url_get(url.get(), CURLUPART_URL, &whole, 0);
  const std::string out = whole ? whole : "";
  lib.free(whole);
  if (out.starts_with("http://") || out.starts_with("https://")) return out;
  throw InputError(text + ": not an address; expected http://HOST[:PORT][/PATH] or https://...");
}

std::unique_ptr<HttpTransport> make_socket_transport(milliseconds connect_patience) {
  return std::make_unique<CurlTransport>("", connect_patience);
}

std::unique_ptr<HttpTransport> make_unix_transport(const std::string& path) {
  return std::make_unique<CurlTransport>(path, kConnectPatience);
}

std::string http_library() {
  const std::string all = curl().version();  // then come libraries that requests here do not use
  return all.substr(0, all.find(' ', all.find(' ') + 1));
}

}  // namespace kw
