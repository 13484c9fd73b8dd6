#include "worker/zygote_lending.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/base/error.h"
#include "worker/process/sockets.h"
#include "worker/replies.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookForStop{200};
constexpr std::chrono::seconds kLendPatience{30};  // a machine whose cores are all taken
// A borrower sends its request at once, and the next one waits until this one is served.
constexpr std::chrono::milliseconds kRequestPatience{1000};
constexpr int kBacklog = 64;
constexpr size_t kMostBytes = size_t{64} << 10;

// What two configurations must agree on, and the folders below /tmp that the sandbox must show.
Json terms_of(const WorkerConfig& config) {
  return {{"python", config.python},
          {"worker_dir", config.worker_dir},
          {"fake_device_library", config.fake_device_library},
          {"sandbox", config.sandbox},
          {"visible", config.visible}};
}

Json walls_json(const std::vector<SandboxLayer>& walls) {
  Json out = Json::array();
  for (const SandboxLayer& layer : walls) {
    out.push_back({{"name", layer.name}, {"active", layer.active}, {"detail", layer.detail}});
  }
  return out;
}

bool is_below(const fs::path& folder, const fs::path& top) {
  const auto [end, ignored] = std::mismatch(top.begin(), top.end(), folder.begin(), folder.end());
  return end == top.end();
}

// Why the zygote of `kept` does not serve a borrower with the terms `asked`; empty when it does.
std::string objection(const WorkerConfig& kept, const JsonReader& asked) {
  const Json ours = terms_of(kept);
  for (const char* name : {"python", "worker_dir", "fake_device_library", "sandbox"}) {
    if (asked.at(name).raw() != ours.at(name)) return std::string(name) + " differs";
  }
  for (const JsonReader& each : asked.at("visible").items()) {
    const fs::path folder = fs::path(each.string()).lexically_normal();
    const bool shown = std::ranges::any_of(kept.visible, [&](const std::string& top) {
      return is_below(folder, fs::path(top).lexically_normal());
    });
    if (is_below(folder, "/tmp") && !shown) return folder.string() + " is not visible";
  }
  return {};
}

sockaddr_un checked_address(const std::string& path) {
  if (path.empty()) throw InputError("the path of the zygote's socket is empty");
  const std::optional<sockaddr_un> out = unix_address(path);
  if (out) return *out;
  throw InputError("socket " + path + ": its path has more than " +
                   std::to_string(kLongestSocketPath) + " characters");
}

UniqueFd make_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

bool connect_to(const UniqueFd& socket, const sockaddr_un& address) {
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool bind_to(const UniqueFd& socket, const sockaddr_un& address) {
  const mode_t before = ::umask(0077);  // the socket is its owner's alone from its first moment
  const bool bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int fault = errno;
  ::umask(before);
  errno = fault;
  return bound;
}

[[noreturn]] void refuse(const sockaddr_un& address, int fault) {
  throw EnvironmentError("cannot listen at " + std::string(address.sun_path) + ": " +
                         std::strerror(fault));
}

// Removes a socket that nobody listens at, such as that of a keeper that was killed. Throws if
// something else is there.
void make_free(const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(address.sun_path, &status) < 0) return;
  const bool stale =
      S_ISSOCK(status.st_mode) && !connect_to(make_socket(), address) && errno == ECONNREFUSED;
  if (!stale) refuse(address, EADDRINUSE);
  if (::unlink(address.sun_path) < 0) refuse(address, errno);
}

UniqueFd listen_at(const sockaddr_un& address) {
  UniqueFd out = make_socket();
  if (!bind_to(out, address) || ::listen(out.get(), kBacklog) < 0) refuse(address, errno);
  return out;
}

// Returns whether the process at the other end is this user's.
bool is_own(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

std::string receive(int socket, std::vector<UniqueFd>& fds) {
  std::string buffer(kMostBytes, '\0');
  const ssize_t count = receive_with_fds(socket, buffer.data(), buffer.size(), &fds, MSG_DONTWAIT);
  buffer.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return buffer;
}

}  // namespace

ZygoteKeeper::ZygoteKeeper(const WorkerConfig& config, fs::path socket)
    : config_(config), path_(std::move(socket)), zygote_(config, /*borrows=*/false) {
  const sockaddr_un address = checked_address(path_.string());
  make_free(address);
  zygote_.copy();  // it is ready, or says why it cannot be
  listener_ = listen_at(address);
}

ZygoteKeeper::~ZygoteKeeper() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void ZygoteKeeper::serve(const std::atomic<bool>& stop) {
  while (!stop) {
    if (!wait_for(listener_.get(), POLLIN, deadline_in(kLookForStop))) continue;
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection || !is_own(connection.get())) continue;
    const Deadline deadline = deadline_in(kRequestPatience);
    while (!stop && std::chrono::steady_clock::now() < deadline) {
      if (!wait_for(connection.get(), POLLIN, deadline_in(kLookForStop))) continue;
      answer(connection.get());
      break;
    }
  }
}

void ZygoteKeeper::answer(int connection) {
  std::vector<UniqueFd> fds;
  Json reply;
  UniqueFd control;
  try {
    const Json asked = parse_json(receive(connection, fds), "borrower");
    const std::string why = objection(config_, JsonReader(asked, "borrower"));
    if (!why.empty()) {
      reply = {{"refused", why}};
    } else if (fds.size() == 1) {
      control = zygote_.lend(fds[0].get());
      reply = {{"walls", walls_json(zygote_.walls())}};
    }
  } catch (const InputError& error) {
    reply = {{"refused", error.what()}};
  } catch (const EnvironmentError& error) {
    reply = {{"refused", error.what()}};
  }
  std::vector<int> sent;
  if (control.get() >= 0) sent.push_back(control.get());
  send_with_fds(connection, reply.dump(), sent, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::unique_ptr<Zygote> borrow_zygote(const std::string& socket, const WorkerConfig& config,
                                      std::string* why) {
  const std::optional<sockaddr_un> address = unix_address(socket);
  const UniqueFd connection = make_socket();
  if (!address || !connect_to(connection, *address) || !is_own(connection.get())) return nullptr;
  if (send_with_fds(connection.get(), terms_of(config).dump(), {STDERR_FILENO}, MSG_NOSIGNAL) < 0) {
    return nullptr;
  }
  if (!wait_for(connection.get(), POLLIN, deadline_in(kLendPatience))) return nullptr;
  std::vector<UniqueFd> fds;
  const std::string reply = receive(connection.get(), fds);
  try {
    const Json told = parse_json(reply, "keeper of a zygote");
    const JsonReader in(told, "keeper of a zygote");
    if (fds.size() == 1) return Zygote::lent(std::move(fds[0]), layers_from_json(in.at("walls")));
    if (why) *why = one_line(in.at("refused").string());
  } catch (const InputError&) {  // the keeper's fault, and not the user's
  }
  return nullptr;
}

}  // namespace kw
