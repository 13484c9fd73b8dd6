#include "worker/zygote_lending.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/base/error.h"
#include "worker/process/channel.h"
#include "worker/replies.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookForStop{200};
constexpr std::chrono::seconds kLendPatience{30};  // a machine whose cores are all taken
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

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw InputError("socket " + path + ": its path has more than " +
                     std::to_string(sizeof address.sun_path - 1) + " characters");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

bool wait_readable(int fd, std::chrono::milliseconds patience) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(patience.count())) > 0;
}

std::string receive(int socket, std::vector<UniqueFd>& fds) {
  std::string buffer(kMostBytes, '\0');
  if (!wait_readable(socket, kLendPatience)) return {};
  const ssize_t count = receive_with_fds(socket, buffer.data(), buffer.size(), &fds, MSG_DONTWAIT);
  buffer.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return buffer;
}

}  // namespace

ZygoteKeeper::ZygoteKeeper(const WorkerConfig& config, fs::path socket)
    : config_(config), path_(std::move(socket)), zygote_(config) {
  const sockaddr_un address = address_of(path_.string());
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const mode_t before = ::umask(0077);  // the socket is its owner's alone from its first moment
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const std::string fault = bound < 0 ? std::strerror(errno) : "";
  ::umask(before);
  if (bound < 0) throw EnvironmentError("cannot listen at " + path_.string() + ": " + fault);
  try {
    zygote_.copy();  // it is ready, or says why it cannot be
    if (::listen(listener.get(), 64) < 0)
      throw EnvironmentError("cannot listen: " + path_.string());
  } catch (...) {
    remove_socket();
    throw;
  }
  listener_ = std::move(listener);
}

ZygoteKeeper::~ZygoteKeeper() { remove_socket(); }

void ZygoteKeeper::remove_socket() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void ZygoteKeeper::serve(const std::atomic<bool>& stop) {
  while (!stop) {
    if (!wait_readable(listener_.get(), kLookForStop)) continue;
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() >= 0) answer(connection.get());
  }
}

void ZygoteKeeper::answer(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return;
  if (peer.uid != ::geteuid()) return;
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

std::unique_ptr<Zygote> borrow_zygote(const std::string& socket, const WorkerConfig& config) {
  const sockaddr_un address = address_of(socket);
  const UniqueFd connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) <
      0) {
    return nullptr;
  }
  if (send_with_fds(connection.get(), terms_of(config).dump(), {STDERR_FILENO}, MSG_NOSIGNAL) < 0) {
    return nullptr;
  }
  std::vector<UniqueFd> fds;
  const std::string reply = receive(connection.get(), fds);
  if (fds.size() != 1) return nullptr;
  const Json told = parse_json(reply, "keeper of a zygote");
  return Zygote::lent(std::move(fds[0]),
                      layers_from_json(JsonReader(told, "keeper of a zygote").at("walls")));
}

}  // namespace kw
