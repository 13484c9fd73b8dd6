#include "net/http.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "net/tls.h"
#include "worker/process/unique_fd.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// While nothing comes it is asked so often whether something is still wanted.
constexpr std::chrono::milliseconds kLook{100};

// Ends a request of which no more is wanted; caught in post(), as is Failure.
struct Unwanted {};

// What ends a request early.
struct Failure {
  std::string reason;
  bool late = false;
};

[[noreturn]] void too_late() { throw Failure{"the deadline came", true}; }

std::string error_text() { return std::strerror(errno); }

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

struct Lookup {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int error = 0;
  std::vector<Address> found;
};

void look_up(const std::string& host, int port, Lookup& out) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  const std::lock_guard lock(out.mutex);
  out.error = error;
  for (addrinfo* at = list; !error && at; at = at->ai_next) {
    Address& address = out.found.emplace_back();
    address.length = at->ai_addrlen;
    std::memcpy(&address.bytes, at->ai_addr, at->ai_addrlen);
  }
  if (!error) ::freeaddrinfo(list);
  out.done = true;
  out.changed.notify_all();
}

// Names are looked up by a thread of their own, as nothing ends getaddrinfo early; one that comes
// too late finds nobody waiting.
std::vector<Address> addresses_of(const Url& url, Clock::time_point deadline) {
  const auto lookup = std::make_shared<Lookup>();
  std::thread([lookup, host = url.host, port = url.port] {
    look_up(host, port, *lookup);
  }).detach();
  std::unique_lock lock(lookup->mutex);
  if (!lookup->changed.wait_until(lock, deadline, [&] { return lookup->done; })) too_late();
  if (lookup->error) {
    throw Failure{url.host + " is not found: " + ::gai_strerror(lookup->error)};
  }
  return lookup->found;
}

// Of a socket in the file system.
Address address_of(const std::string& path) {
  sockaddr_un name{};
  if (path.size() >= sizeof(name.sun_path)) throw Failure{path + " is too long for a socket"};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, path.size());
  Address out;
  out.length = sizeof(name);
  std::memcpy(&out.bytes, &name, sizeof(name));
  return out;
}

class Connection {
 public:
  // `wanted` is asked while nothing can be sent or received; Unwanted where it is not.
  Connection(const Url& url, const std::vector<Address>& addresses, Clock::time_point deadline,
             const std::function<bool()>& wanted)
      : deadline_(deadline), wanted_(wanted) {
    open(url, addresses);
    if (url.tls) {
      tls_.emplace(url.host);
      shake_hands();
    }
  }

  void send(std::string_view plain) {
    if (!tls_) return send_all(plain);
    if (tls_->write(plain) != TlsSession::State::kReady) throw Failure{tls_->fault()};
    send_all(tls_->to_send());
  }

  // Appends what comes next; false at the end.
  bool receive(std::string& plain) {
    if (!tls_) return receive_some(plain);
    for (const size_t before = plain.size(); plain.size() == before;) {
      const TlsSession::State state = tls_->read(plain);
      send_all(tls_->to_send());
      if (plain.size() > before) return true;
      if (state == TlsSession::State::kEnded) return false;
      if (state == TlsSession::State::kFailed) throw Failure{tls_->fault()};
      std::string cipher;
      if (!receive_some(cipher)) return false;
      tls_->received(cipher);
    }
    return true;
  }

 private:
  void open(const Url& url, const std::vector<Address>& addresses) {
    std::string reason;
    for (const Address& address : addresses) {
      socket_ = UniqueFd(
          ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const auto* name = reinterpret_cast<const sockaddr*>(&address.bytes);
      if (socket_.get() < 0) {
        reason = error_text();
        continue;
      }
      int error = ::connect(socket_.get(), name, address.length) == 0 ? 0 : errno;
      if (error == EINPROGRESS) {
        wait(POLLOUT);
        socklen_t size = sizeof(error);
        ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      }
      if (error == 0) {
        const int on = 1;
        ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        return;
      }
      reason = std::strerror(error);
    }
    throw Failure{"cannot connect to " + url.host + ":" + std::to_string(url.port) + ": " + reason};
  }

  void shake_hands() {
    for (;;) {
      const TlsSession::State state = tls_->handshake();
      send_all(tls_->to_send());
      if (state == TlsSession::State::kReady) return;
      if (state != TlsSession::State::kWantsMore) throw Failure{tls_->fault()};
      std::string cipher;
      if (!receive_some(cipher)) throw Failure{"TLS: the connection ended in its handshake"};
      tls_->received(cipher);
    }
  }

  void wait(short events) {
    for (;;) {
      const auto left = deadline_ - Clock::now();
      if (left <= Clock::duration::zero()) too_late();
      const auto ms = std::min(std::chrono::ceil<std::chrono::milliseconds>(left), kLook);
      pollfd entry{socket_.get(), events, 0};
      const int ready = ::poll(&entry, 1, static_cast<int>(ms.count()));
      if (ready > 0) return;
      if (ready == 0 && !wanted_()) throw Unwanted{};
      if (ready < 0 && errno != EINTR) throw Failure{"poll: " + error_text()};
    }
  }

  void send_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) {
        bytes.remove_prefix(static_cast<size_t>(n));
      } else if (errno == EAGAIN || errno == EINTR) {
        wait(POLLOUT);
      } else {
        throw Failure{"the connection broke: " + error_text()};
      }
    }
  }

  bool receive_some(std::string& out) {
    char bytes[16 << 10];
    for (;;) {
      // A stream that never pauses ends by the clock too.
      if (Clock::now() >= deadline_) too_late();
      const ssize_t n = ::recv(socket_.get(), bytes, sizeof(bytes), 0);
      if (n > 0) out.append(bytes, static_cast<size_t>(n));
      if (n >= 0) return n > 0;
      if (errno != EAGAIN && errno != EINTR) {
        throw Failure{"the connection broke: " + error_text()};
      }
      wait(POLLIN);
    }
  }

  const Clock::time_point deadline_;
  const std::function<bool()>& wanted_;
  UniqueFd socket_;
  std::optional<TlsSession> tls_;
};

void read_head(const ResponseReader& reader, HttpHead& out) {
  out.status = reader.status();
  if (const std::string* type = reader.header("content-type")) out.content_type = *type;
  if (const std::string* wait = reader.header("retry-after")) out.retry_after = *wait;
}

class SocketTransport : public HttpTransport {
 public:
  explicit SocketTransport(std::string path) : path_(std::move(path)) {}

  HttpResult post(const Url& url, const HttpHeaders& headers, const std::string& body,
                  Clock::time_point deadline,
                  const std::function<bool(const HttpHead&, std::string_view)>& take) override {
    HttpResult out;
    ResponseReader reader;
    const std::function<bool()> wanted = [&] { return take(out.head, ""); };
    try {
      Connection connection(
          url, path_.empty() ? addresses_of(url, deadline) : std::vector{address_of(path_)},
          deadline, wanted);
      connection.send(post_text(url, headers, body));
      bool more = true;
      while (more) {
        std::string bytes, piece;
        if (!connection.receive(bytes)) {
          reader.close();
          more = false;
        } else {
          more = reader.feed(bytes, piece);
        }
        if (out.head.status == 0 && reader.status() != 0) read_head(reader, out.head);
        if (!piece.empty() && !take(out.head, piece)) return out;
      }
      out.fault = reader.fault();
    } catch (const Unwanted&) {
    } catch (const Failure& failure) {
      out.fault = failure.reason;
      out.late = failure.late;
    }
    return out;
  }

 private:
  const std::string path_;  // of a Unix-domain socket; empty: the addresses of the host
};

}  // namespace

std::unique_ptr<HttpTransport> make_socket_transport() {
  return std::make_unique<SocketTransport>("");
}

std::unique_ptr<HttpTransport> make_unix_transport(const std::string& path) {
  return std::make_unique<SocketTransport>(path);
}

}  // namespace kw
