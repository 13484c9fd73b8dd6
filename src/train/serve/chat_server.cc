#include "train/serve/chat_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "formats/base/error.h"
#include "worker/process/sockets.h"

namespace kw::train {
namespace {

constexpr char kPath[] = "/v1/chat/completions";
constexpr char kJson[] = "application/json", kEvents[] = "text/event-stream";
constexpr size_t kMostHeaderBytes = 64 << 10;
constexpr std::chrono::milliseconds kDrainPatience{2000};

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw EnvironmentError(path.string() + ": " + why);
}

UniqueFd listen_at(const std::filesystem::path& path) {
  const std::string text = path.string();
  const std::optional<sockaddr_un> name = unix_address(text);
  if (!name) refuse(path, "is empty or too long for a socket");
  UniqueFd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out || ::bind(out.get(), reinterpret_cast<const sockaddr*>(&*name), sizeof(*name)) != 0) {
    refuse(path, std::string("cannot be made a socket: ") + std::strerror(errno));
  }
  // Nobody can connect before it listens.
  if (::chmod(text.c_str(), 0600) != 0 || ::listen(out.get(), SOMAXCONN) != 0) {
    const std::string why = std::strerror(errno);
    ::unlink(text.c_str());
    refuse(path, "cannot be listened at: " + why);
  }
  return out;
}

// One connection, as cpp-httplib reads and writes it. A request has a deadline and a bound on its
// bytes, and each piece of the response has a deadline. All ends early when `stop` becomes
// readable.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, int stop, const ChatServerOptions& options)
      : socket_(socket),
        stop_(stop),
        patience_(options.patience),
        deadline_(deadline_in(options.patience)),
        left_(options.most_body + kMostHeaderBytes) {}

  // Whether the client waits: one that has only finished its request does.
  bool is_wanted() const {
    pollfd entry = {socket_, 0, 0};
    return ::poll(&entry, 1, 0) <= 0 || !(entry.revents & (POLLHUP | POLLERR));
  }

  // Passes over what still comes, for a while: a client that still sends would not read the
  // response if the connection broke.
  void drain() {
    ::shutdown(socket_, SHUT_WR);
    const Deadline deadline = deadline_in(kDrainPatience);
    while (wait(POLLIN, deadline) && ::recv(socket_, buffer_.data(), buffer_.size(), 0) > 0) {
    }
  }

  ssize_t read(char* out, size_t size) override {
    if (unread_.empty() && !receive()) return ended_ ? 0 : -1;
    const size_t length = unread_.copy(out, size);
    unread_.remove_prefix(length);
    return static_cast<ssize_t>(length);
  }

  ssize_t write(const char* bytes, size_t size) override {
    const Deadline deadline = deadline_in(patience_);
    for (size_t sent = 0; sent < size;) {
      if (!wait(POLLOUT, deadline)) return -1;
      const ssize_t n = ::send(socket_, bytes + sent, size - sent, MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return -1;
      sent += static_cast<size_t>(std::max<ssize_t>(n, 0));
    }
    return static_cast<ssize_t>(size);
  }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return is_wanted(); }
  socket_t socket() const override { return socket_; }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}

 private:
  // Fills unread_. False at the end, and when no more is taken.
  bool receive() {
    while (left_ > 0 && wait(POLLIN, deadline_)) {
      const ssize_t n = ::recv(socket_, buffer_.data(), std::min(left_, buffer_.size()), 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      ended_ = n == 0;
      if (n <= 0) return false;
      left_ -= static_cast<size_t>(n);
      unread_ = {buffer_.data(), static_cast<size_t>(n)};
      return true;
    }
    return false;
  }

  // What is ready after the deadline is not taken: a client might send a byte at a time for ever.
  bool wait(short events, Deadline deadline) const {
    return std::chrono::steady_clock::now() < deadline &&
           wait_for(socket_, events, deadline, stop_);
  }

  const int socket_, stop_;
  const std::chrono::milliseconds patience_;
  const Deadline deadline_;  // of the request
  size_t left_;              // bytes that may still be read
  std::array<char, 16 << 10> buffer_;
  std::string_view unread_;  // of buffer_
  bool ended_ = false;
};

void say(httplib::Response& response, int status, std::string_view message) {
  response.status = status;
  response.set_content(chat_error_body(message), kJson);
}

// cpp-httplib's reading, routing and writing, without its sockets (docs/libraries.md says why). One
// thread.
class Http : public httplib::Server {
 public:
  Http(const ChatServer::Answer& answer, const ChatServerOptions& options) : answer_(answer) {
    set_payload_max_length(options.most_body);
    set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
      return refuse(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
    Post(kPath, [this](const httplib::Request& request, httplib::Response& response) {
      respond(request.body, response);
    });
    set_error_handler(
        [most = options.most_body](const httplib::Request&, httplib::Response& response) {
          if (!response.body.empty()) return;
          say(response, response.status,
              response.status == 413 ? "the body is longer than " + std::to_string(most) + " bytes"
                                     : "this is no request of HTTP/1.1");
        });
  }

  void serve(Connection& connection) {
    connection_ = &connection;
    try {
      if (process(*this, connection)) connection.drain();
    } catch (const std::exception&) {  // no memory
    }
  }

 private:
  // Whether the request is refused before its body is read. Bodies that are compressed have no
  // bound, and without a length they end with the connection.
  static bool refuse(const httplib::Request& request, httplib::Response& response) {
    if (request.method != "POST" || request.path != kPath) {
      say(response, 404, "there is nothing but POST " + std::string(kPath));
    } else if (request.has_header("Content-Encoding")) {
      say(response, 415, "the body is compressed");
    } else if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) {
      say(response, 411, "a body with a Content-Length is expected");
    } else {
      return false;
    }
    return true;
  }

  void respond(const std::string& body, httplib::Response& response) const {
    try {
      const ChatRequest request = parse_chat_request(body);
      const ChatCompletion completion =
          answer_(request, [this] { return connection_->is_wanted(); });
      response.status = 200;
      response.set_content(completion_body(completion, request.stream),
                           request.stream ? kEvents : kJson);
    } catch (const InputError& error) {
      say(response, 400, error.what());
    } catch (const EnvironmentError& error) {
      say(response, 503, error.what());
    } catch (const std::exception& error) {
      say(response, 500, error.what());
    }
  }

  // Later versions ask for the addresses of both ends. Ranges are passed over: a few bytes of them
  // would ask for a thousand times the answer. So is the content type, as the body is read as JSON
  // in any case: cpp-httplib takes forms apart, and limits them to 8192 bytes.
  template <class Self>
  static bool process(Self& self, Connection& connection) {
    const auto whole = [](httplib::Request& request) {
      request.ranges.clear();
      request.headers.erase("Content-Type");
    };
    bool closed = false;
    if constexpr (requires { self.process_request(connection, true, closed, whole); }) {
      return self.process_request(connection, true, closed, whole);
    } else {
      return self.process_request(connection, "", 0, "", 0, true, closed, whole);
    }
  }

  const ChatServer::Answer& answer_;
  Connection* connection_ = nullptr;
};

}  // namespace

ChatServer::ChatServer(std::filesystem::path socket, Answer answer, ChatServerOptions options)
    : path_(std::move(socket)),
      answer_(std::move(answer)),
      options_(options),
      listener_(listen_at(path_)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  try {
    for (int i = 0; i < options_.connections; ++i) threads_.emplace_back([this] { live(); });
  } catch (const std::exception& error) {  // too many threads for this machine
    const size_t started = threads_.size();
    end();
    refuse(path_, "cannot be served by " + std::to_string(options_.connections) +
                      " threads: after " + std::to_string(started) + ", " + error.what());
  }
}

ChatServer::~ChatServer() { end(); }

void ChatServer::end() {
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  for (std::thread& thread : threads_) thread.join();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void ChatServer::live() const {
  Http http(answer_, options_);
  while (true) {
    pollfd entries[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    ::poll(entries, 2, -1);
    if (entries[1].revents) return;
    const UniqueFd socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      Connection connection(socket.get(), stop_.get(), options_);
      http.serve(connection);
    } else if (errno == EMFILE || errno == ENFILE) {
      ::poll(&entries[1], 1, 100);  // until some other thread has closed its own
    }                               // or another thread was faster
  }
}

}  // namespace kw::train
