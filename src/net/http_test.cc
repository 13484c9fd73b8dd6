// Requests over real sockets, whose other ends are written here.
#include "net/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <ctime>
#include <thread>

#include "formats/base/error.h"
#include "net/curl.h"
#include "worker/process/unique_fd.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool send_all(int socket, std::string_view text, size_t step = std::string::npos) {
  while (!text.empty()) {
    const ssize_t n = ::send(socket, text.data(), std::min(step, text.size()), MSG_NOSIGNAL);
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void wait_for_end(int socket) {
  char bytes[4096];
  while (::recv(socket, bytes, sizeof bytes, 0) > 0) {
  }
}

// Lets a socket listen at a free port of this machine. Returns its address.
sockaddr_in listen_on(int listener, int queue) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* address = reinterpret_cast<sockaddr*>(&name);
  EXPECT_EQ(::bind(listener, address, size), 0);
  EXPECT_EQ(::listen(listener, queue), 0);
  EXPECT_EQ(::getsockname(listener, address, &size), 0);
  return name;
}

// A server on this machine that gives each request to `serve`, and closes its connection then. It
// reads a request up to `end`; the bodies here are "{}".
class Server {
 public:
  using Serve = std::function<void(int socket, const std::string& request)>;

  explicit Server(Serve serve, std::string end = "\r\n\r\n{}")
      : serve_(std::move(serve)), end_(std::move(end)) {
    port_ = ntohs(listen_on(listener_.get(), 64).sin_port);
    thread_ = std::thread([this] { live(); });
  }
  ~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/x?y=1"; }

 private:
  void live() {
    while (true) {
      const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection) return;
      std::string request;
      char byte = 0;
      while (!request.ends_with(end_) && ::recv(connection.get(), &byte, 1, 0) == 1) {
        request += byte;
      }
      serve_(connection.get(), request);
    }
  }

  const Serve serve_;
  const std::string end_;
  const UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int port_ = 0;
  std::thread thread_;
};

struct Read {
  HttpResult result;
  std::string body;
  std::string fault() const { return result.fault; }
};
Read post(const std::string& url, Clock::duration patience = seconds(60),
          const HttpHeaders& headers = {}) {
  Read out;
  out.result = make_socket_transport()->post(url, headers, "{}", Clock::now() + patience,
                                             [&](const HttpHead&, std::string_view bytes) {
                                               out.body += bytes;
                                               return true;
                                             });
  return out;
}
// What comes of `text` as the response, sent `step` bytes at a time.
Read read(const std::string& text, size_t step = std::string::npos) {
  const Server server([&](int socket, const std::string&) { send_all(socket, text, step); });
  return post(server.url());
}

const std::string kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: "
    "u\r\n\r\n";

TEST(Curl, SaysWhatIsMissing) {
  for (const auto& [library, word] : {std::pair{"libnone.so.0", "apt-get install libcurl4"},
                                      std::pair{"libm.so.6", "has no curl_"}}) {
    try {
      load_curl({library});
      FAIL() << "not thrown";
    } catch (const EnvironmentError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

TEST(Curl, SaysWhichItIs) {
  const std::string found = http_library();
  EXPECT_TRUE(found.starts_with("libcurl/")) << found;
  EXPECT_LE(std::count(found.begin(), found.end(), ' '), 1) << found;
}

TEST(CheckedUrl, TakesAddresses) {
  EXPECT_EQ(checked_url("https://api.example.test:8443/v1/x?y=1"),
            "https://api.example.test:8443/v1/x?y=1");
  EXPECT_EQ(checked_url("http://h"), "http://h/");
  EXPECT_EQ(checked_url("HTTP://h/a"), "http://h/a");
  EXPECT_EQ(checked_url("http://[::1]:9/"), "http://[::1]:9/");
}

TEST(CheckedUrl, RefusesTheRest) {
  for (const char* text : {"", "h", "ftp://h", "file:///h", "http://", "http://h:99999",
                           "http://h:x", "http://a b", "http://h\r\nX: y", "http://user@h/"}) {
    EXPECT_THROW(checked_url(text), InputError) << text;
  }
  try {
    checked_url("http://user:word@h/");
    FAIL() << "not thrown";
  } catch (const InputError& error) {  // what is secret is not shown
    EXPECT_EQ(std::string(error.what()).find("word"), std::string::npos);
  }
}

TEST(HttpTransport, SendsARequest) {
  std::string seen;
  const Server server([&](int socket, const std::string& request) {
    seen = request;
    send_all(socket, kChunked);
  });
  EXPECT_EQ(post(server.url(), seconds(60), {{"A", "b"}}).fault(), "");
  EXPECT_TRUE(seen.starts_with("POST /v1/x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:")) << seen;
  for (const char* line :
       {"\r\nConnection: close\r\n", "\r\nContent-Length: 2\r\n", "\r\nA: b\r\n", "\r\n\r\n{}"}) {
    EXPECT_NE(seen.find(line), std::string::npos) << seen;
  }
  EXPECT_EQ(seen.find("Expect"), std::string::npos);
}

TEST(HttpTransport, ReadsBodiesInPiecesOfAnySize) {
  const std::string texts[] = {
      kChunked,
      "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!",
      "HTTP/1.0 200 OK\r\n\r\nhello!",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\ncontent-length:6\r\n\r\nhello!",
  };
  for (const std::string& text : texts) {
    for (const size_t step : {1, 2, 7, 1000}) {
      const Read found = read(text, step);
      EXPECT_EQ(found.fault(), "") << text;
      EXPECT_EQ(found.result.head.status, 200);
      EXPECT_EQ(found.body, "hello!");
    }
  }
}

TEST(HttpTransport, HandsTheHeadOn) {
  const std::string start = "HTTP/1.1 429 Slow\r\nContent-TYPE: \ta/b; c=d \r\n";
  const std::string end = "Content-Length: 0\r\n\r\n";
  const Read plain = read(start + end);
  EXPECT_EQ(plain.fault(), "");
  EXPECT_EQ(plain.result.head.status, 429);
  EXPECT_EQ(plain.result.head.content_type, "a/b; c=d");
  EXPECT_FALSE(plain.result.head.retry_after);
  const auto wait = [&](const std::string& value) {
    return read(start + "Retry-AFTER: " + value + "\r\n" + end).result.head.retry_after;
  };
  EXPECT_EQ(wait("7"), 7);
  EXPECT_EQ(wait("1000000000"), 3600);
  for (const char* value : {"", "-1", "nan", "Wed, 21 Oct 2015 07:28:00 GMT"}) {
    EXPECT_FALSE(wait(value)) << value;
  }
  const std::time_t soon = std::time(nullptr) + 100;
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&soon));
  EXPECT_NEAR(wait(text).value_or(0), 95, 6) << text;
}

TEST(HttpTransport, WhatEndsTooEarlyIsAFault) {
  const size_t head = kChunked.find("\r\n\r\n") + 4;
  for (size_t n = 0; n + 4 < kChunked.size(); ++n) {
    const Read found = read(kChunked.substr(0, n));
    EXPECT_FALSE(found.result.late);
    EXPECT_TRUE(std::string("hello!").starts_with(found.body));
    if (n == 0 || n >= head) {
      EXPECT_NE(found.fault(), "") << n;
    } else {  // libcurl takes the end for that of the headers
      EXPECT_EQ(found.body, "") << n;
    }
  }
}

TEST(HttpTransport, WhatIsNoResponseIsAFault) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const std::string& text : {
           std::string("SSH-2.0\r\n\r\n"),
           std::string("HTTP/1.1 abc\r\n\r\n"),
           head + "no colon\r\n\r\n",
           head + "Content-Length: -1\r\n\r\n",
           head + "Content-Length: 1x\r\n\r\n",
           head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
           head + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
           head + "X: " + std::string(200000, 'x'),
           std::string(200000, 'x'),
       }) {
    EXPECT_NE(read(text).fault(), "") << text.substr(0, 80);
  }
}

TEST(HttpTransport, HeadersAndWhatComesBeforeThemAreBounded) {
  for (const std::string line : {"A: b\r\n", "HTTP/1.1 100 C\r\n\r\n"}) {
    std::string lines = line.starts_with("A") ? "HTTP/1.1 200 OK\r\n" : "";
    while (lines.size() < 4096) lines += line;
    const Server server([&](int socket, const std::string&) {
      while (send_all(socket, lines)) lines.erase(0, lines.find(line));  // for ever
    });
    EXPECT_EQ(post(server.url()).fault(), "its headers are too long");
  }
}

TEST(HttpTransport, TheDeadlineEndsWhatStallsAndWhatNeverPauses) {
  const std::string head = "HTTP/1.1 200 OK\r\n\r\nhello";
  const Server stalls([&](int socket, const std::string&) {
    send_all(socket, head);
    wait_for_end(socket);
  });
  const Server drips([&](int socket, const std::string&) {
    for (send_all(socket, head); send_all(socket, std::string(10000, 'x'));) {
    }
  });
  for (const Server* server : {&stalls, &drips}) {
    const Clock::time_point begin = Clock::now();
    const Read found = post(server->url(), milliseconds(300));
    EXPECT_EQ(found.fault(), "the deadline came");
    EXPECT_TRUE(found.result.late);
    EXPECT_EQ(found.result.head.status, 200);
    EXPECT_TRUE(found.body.starts_with("hello"));
    EXPECT_LT(Clock::now() - begin, seconds(30));
  }
  EXPECT_TRUE(post(stalls.url(), seconds(-1)).result.late);
}

TEST(HttpTransport, SaysThatNobodyListens) {
  std::string url;
  {
    const Server gone([](int, const std::string&) {});
    url = gone.url();
  }
  const Read found = post(url);
  EXPECT_EQ(found.result.head.status, 0);
  EXPECT_FALSE(found.result.late);
  EXPECT_NE(found.fault().find("connect"), std::string::npos) << found.fault();
  EXPECT_FALSE(found.result.permanent);
  EXPECT_FALSE(found.result.connected);
}

// A socket whose queue of connections is full, to which the kernel drops further packets.
class Silent {
 public:
  Silent() {
    const sockaddr_in name = listen_on(listener_.get(), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(name.sin_port)) + "/";
    for (int i = 0; i < 4; ++i) {
      waiting_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(waiting_.back().get(), reinterpret_cast<const sockaddr*>(&name), sizeof name);
    }
  }
  const std::string& url() const { return url_; }

 private:
  const UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::vector<UniqueFd> waiting_;
  std::string url_;
};

TEST(HttpTransport, AConnectionThatIsNotMadeIsNotTheDeadline) {
  const Silent silent;
  const auto taker = [](const HttpHead&, std::string_view) { return true; };
  const Clock::time_point begin = Clock::now();
  HttpResult found = make_socket_transport(milliseconds(300))
                         ->post(silent.url(), {}, "{}", begin + seconds(60), taker);
  EXPECT_LT(Clock::now() - begin, seconds(30));
  EXPECT_NE(found.fault, "");
  EXPECT_FALSE(found.late);
  EXPECT_FALSE(found.connected);
  found = make_socket_transport()->post(silent.url(), {}, "{}", Clock::now() + milliseconds(300),
                                        taker);
  EXPECT_TRUE(found.late);
  EXPECT_FALSE(found.connected);
}

TEST(HttpTransport, AHeadIsGivenBeforeItsBody) {
  const Server server([&](int socket, const std::string&) {
    send_all(socket, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\n");
    wait_for_end(socket);
  });
  const HttpResult found =
      make_socket_transport()->post(server.url(), {}, "{}", Clock::now() + seconds(60),
                                    [](const HttpHead& head, std::string_view bytes) {
                                      EXPECT_EQ(bytes, "");
                                      return head.status == 0;
                                    });
  EXPECT_EQ(found.head.status, 503);
  EXPECT_EQ(found.fault, "");
  EXPECT_TRUE(found.connected);
}

TEST(HttpTransport, AServerThatKnowsNoTlsIsAPermanentFault) {
  const Server server(
      [&](int socket, const std::string&) {
        send_all(socket, "HTTP/1.1 400 Bad Request\r\n\r\n");
        wait_for_end(socket);
      },
      "");
  const Read found = post("https" + server.url().substr(4));
  EXPECT_NE(found.fault(), "");
  EXPECT_TRUE(found.result.permanent);
  EXPECT_FALSE(found.result.late);
}

// The environment of this process, for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* const name_;
};

TEST(HttpTransport, GoesThroughAProxyButNotToThisMachine) {
  std::string seen;
  const Server proxy([&](int socket, const std::string& request) {
    seen = request;
    send_all(socket, kChunked);
  });
  const Variable variable("http_proxy", proxy.url());
  EXPECT_EQ(post("http://nowhere.test/a").fault(), "");
  EXPECT_TRUE(seen.starts_with("POST http://nowhere.test/a HTTP/1.1\r\n")) << seen;
  seen.clear();
  EXPECT_EQ(read(kChunked).body, "hello!");
  EXPECT_EQ(seen, "");
  const TestFolder folder;
  const HttpResult found = make_unix_transport(folder.path() / "none")
                               ->post("http://nowhere.test/a", {}, "{}", Clock::now() + seconds(60),
                                      [](const HttpHead&, std::string_view) { return true; });
  EXPECT_NE(found.fault, "");
  EXPECT_EQ(seen, "");
}

TEST(HttpTransport, AProxyThatRefusesIsNamed) {
  for (const auto& [status, permanent] : {std::pair{"407", true}, std::pair{"503", false}}) {
    const Server proxy(
        [&](int socket, const std::string&) {
          send_all(socket, std::string("HTTP/1.1 ") + status + " No\r\nContent-Length: 0\r\n\r\n");
        },
        "\r\n\r\n");
    const Variable variable("https_proxy", proxy.url());
    const Read found = post("https://nowhere.test/a");
    EXPECT_EQ(found.fault(), std::string("the proxy answers ") + status);
    EXPECT_EQ(found.result.head.status, 0);
    EXPECT_EQ(found.result.permanent, permanent);
  }
}

TEST(HttpTransport, WhatIsNotWantedAnyMoreIsNotWaitedFor) {
  const TestFolder folder;
  const std::string path = (folder.path() / "socket").string();
  const UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(::listen(server.get(), 4), 0);  // and never answers

  const auto transport = make_unix_transport(path);
  int looks = 0;
  const Clock::time_point begin = Clock::now();
  HttpResult found = transport->post("http://localhost/", {}, "{}", begin + seconds(60),
                                     [&](const HttpHead& head, std::string_view bytes) {
                                       EXPECT_EQ(head.status, 0);
                                       EXPECT_EQ(bytes, "");
                                       return ++looks < 3;
                                     });
  EXPECT_LT(Clock::now() - begin, seconds(30));
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(found.fault, "");
  EXPECT_FALSE(found.late);

  found = transport->post("http://localhost/", {}, "{}", Clock::now() + milliseconds(250),
                          [](const HttpHead&, std::string_view) { return true; });
  EXPECT_TRUE(found.late);
}

TEST(HttpTransport, TheRestOfABodyThatIsNotWantedIsNoFault) {
  const Server server([&](int socket, const std::string&) {
    send_all(socket, "HTTP/1.1 200 OK\r\n\r\nhello");
    wait_for_end(socket);
  });
  const auto transport = make_socket_transport();
  const HttpResult found =
      transport->post(server.url(), {}, "{}", Clock::now() + seconds(60),
                      [](const HttpHead&, std::string_view bytes) { return bytes.empty(); });
  EXPECT_EQ(found.head.status, 200);
  EXPECT_EQ(found.fault, "");
  // What the taker throws, its caller is given.
  EXPECT_THROW(
      transport->post(server.url(), {}, "{}", Clock::now() + seconds(60),
                      [](const HttpHead&, std::string_view) -> bool { throw InputError("no"); }),
      InputError);
}

}  // namespace
}  // namespace kw
