// HTTP to the end of a deadline: a POST whose response is handed on as it comes. HttpTransport is
// the seam for tests; sockets are the real one. Any thread, each request its own connection.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace kw {

struct HttpHead {
  int status = 0;
  std::string content_type, retry_after;
};

struct HttpResult {
  HttpHead head;      // status 0: no response came
  std::string fault;  // why the response did not come whole; empty when it did
  bool late = false;  // the fault is the deadline
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  // `take` is given each piece of the body, and now and then an empty one while nothing comes (the
  // head's status is 0 before there is one). It returns false when it wants no more: the rest is
  // not waited for, and the result has no fault. Never throws what the other side is to blame for.
  virtual HttpResult post(const Url& url, const HttpHeaders& headers, const std::string& body,
                          std::chrono::steady_clock::time_point deadline,
                          const std::function<bool(const HttpHead&, std::string_view)>& take) = 0;
};

// EnvironmentError from post() when an https:// address meets a machine without OpenSSL.
std::unique_ptr<HttpTransport> make_socket_transport();
// Whatever the address: to the Unix-domain socket at `path`.
std::unique_ptr<HttpTransport> make_unix_transport(const std::string& path);

}  // namespace kw
