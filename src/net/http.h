// HTTP to the end of a deadline: a POST whose response is handed on as it comes. HttpTransport is
// the seam for tests; the real one is libcurl (curl.h). Any thread, each request its own
// connection.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw {

// Returns `text` as libcurl writes an http:// or https:// address, with a path. Throws InputError
// for anything else, names and passwords among it, and EnvironmentError without libcurl.
std::string checked_url(const std::string& text);

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpHead {
  int status = 0;
  std::string content_type;
  std::optional<double> retry_after;  // seconds, at most an hour
};

struct HttpResult {
  HttpHead head;           // status 0: no response came
  std::string fault;       // why the response did not come whole; empty when it did
  bool late = false;       // the fault is the deadline
  bool permanent = false;  // another try would meet the same fault: the setup is wrong
  bool connected = true;   // false: there was no connection, so nothing was asked
};

class HttpTransport {
 public:
  // Is given the pieces of a response.
  using Take = std::function<bool(const HttpHead&, std::string_view)>;

  virtual ~HttpTransport() = default;
  // `take` is given each piece of the body, and now and then an empty one while nothing comes (the
  // head's status is 0 until the headers have come). It returns false when it wants no more: the
  // rest is not waited for, and the result has no fault. Never throws what the other side is to
  // blame for.
  virtual HttpResult post(const std::string& url, const HttpHeaders& headers,
                          const std::string& body, std::chrono::steady_clock::time_point deadline,
                          const Take& take) = 0;
};

// How long a connection may take, with the look-up of the name and the TLS handshake. A host that
// drops packets never refuses one.
constexpr std::chrono::milliseconds kConnectPatience{15000};

// Both throw EnvironmentError without libcurl. The second one sends every request to the
// Unix-domain socket at `path`.
std::unique_ptr<HttpTransport> make_socket_transport(
    std::chrono::milliseconds connect_patience = kConnectPatience);
std::unique_ptr<HttpTransport> make_unix_transport(const std::string& path);
// Returns the name and version of the machine's libcurl. Throws EnvironmentError without one.
std::string http_library();

}  // namespace kw
