#include "train/serve/chat_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "formats/base/error.h"
#include "net/http_request.h"
#include "worker/process/channel.h"

namespace kw::train {
namespace {

constexpr char kJson[] = "application/json", kEvents[] = "text/event-stream";
constexpr std::chrono::milliseconds kDrainPatience{2000};

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw EnvironmentError(path.string() + ": " + why);
}

UniqueFd listen_at(const std::filesystem::path& path) {
  const std::string text = path.string();
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (text.size() >= sizeof(name.sun_path)) refuse(path, "is too long for a socket");
  text.copy(name.sun_path, text.size());
  UniqueFd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out || ::bind(out.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
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

// One connection under a deadline; it ends early if `stop` becomes readable.
class Wire {
 public:
  Wire(int socket, int stop, Deadline deadline)
      : socket_(socket), stop_(stop), deadline_(deadline) {}

  // Appends the next bytes; returns false at the end of the connection, for any reason.
  bool receive(std::string& out) {
    char bytes[16 << 10];
    while (wait(POLLIN)) {
      const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
      if (n > 0) out.append(bytes, static_cast<size_t>(n));
      if (n >= 0) return n > 0;
      if (errno != EAGAIN && errno != EINTR) return false;
    }
    return false;
  }

  void send(std::string_view bytes) {
    while (!bytes.empty() && wait(POLLOUT)) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0) {
        bytes.remove_prefix(static_cast<size_t>(n));
      } else if (errno != EAGAIN && errno != EINTR) {
        return;
      }
    }
  }

 private:
  bool wait(short events) const {
    while (std::chrono::steady_clock::now() < deadline_) {
      pollfd entries[] = {{socket_, events, 0}, {stop_, POLLIN, 0}};
      if (::poll(entries, 2, poll_timeout(deadline_)) < 0 && errno != EINTR) return false;
      if (entries[1].revents) return false;
      if (entries[0].revents) return true;
    }
    return false;
  }

  const int socket_, stop_;
  const Deadline deadline_;
};

}  // namespace

ChatServer::ChatServer(std::filesystem::path socket, Answer answer, ChatServerOptions options)
    : path_(std::move(socket)),
      answer_(std::move(answer)),
      options_(options),
      listener_(listen_at(path_)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  for (int i = 0; i < options_.connections; ++i) threads_.emplace_back([this] { live(); });
}

ChatServer::~ChatServer() {
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  for (std::thread& thread : threads_) thread.join();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void ChatServer::live() {
  while (true) {
    pollfd entries[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    ::poll(entries, 2, -1);
    if (entries[1].revents) return;
    const UniqueFd connection(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) {
      serve(connection.get());
    } else if (errno == EMFILE || errno == ENFILE) {
      ::poll(&entries[1], 1, 100);  // until some other thread has closed its own
    }                               // or another thread was faster
  }
}

void ChatServer::serve(int connection) const {
  RequestReader reader(options_.most_body);
  Wire in(connection, stop_.get(), deadline_in(options_.patience));
  for (bool more = true; more;) {
    std::string bytes;
    if (!in.receive(bytes)) return;
    more = reader.feed(bytes);
  }
  const auto wanted = [&] {  // a client that has only finished its request still waits
    pollfd entry = {connection, 0, 0};
    return ::poll(&entry, 1, 0) <= 0 || !(entry.revents & (POLLHUP | POLLERR));
  };
  const std::string reply = reader.done()
                                ? reply_to(reader.method(), reader.target(), reader.body(), wanted)
                                : response_text(400, kJson, chat_error_body(reader.fault()));
  Wire(connection, stop_.get(), deadline_in(options_.patience)).send(reply);
  ::shutdown(connection, SHUT_WR);
  // A client that is still sending would not read the reply if the connection broke.
  Wire rest(connection, stop_.get(), deadline_in(kDrainPatience));
  for (std::string ignored; rest.receive(ignored);) ignored.clear();
}

std::string ChatServer::reply_to(const std::string& method, const std::string& target,
                                 const std::string& body,
                                 const std::function<bool()>& wanted) const {
  const auto fault = [](int status, std::string_view message) {
    return response_text(status, kJson, chat_error_body(message));
  };
  try {
    if (method != "POST" || target != "/v1/chat/completions") {
      return fault(404, "there is nothing but POST /v1/chat/completions");
    }
    const ChatRequest request = parse_chat_request(body);
    const ChatCompletion completion = answer_(request, wanted);
    return response_text(200, request.stream ? kEvents : kJson,
                         completion_body(completion, request.stream));
  } catch (const InputError& error) {
    return fault(400, error.what());
  } catch (const EnvironmentError& error) {
    return fault(503, error.what());
  } catch (const std::exception& error) {
    return fault(500, error.what());
  }
}

}  // namespace kw::train
