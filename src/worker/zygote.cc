#include "worker/zygote.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>

#include "formats/base/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kStartPatience{180000};  // importing torch from a cold disk takes a while
constexpr milliseconds kCopyPatience{20000};    // milliseconds, on a machine that has some to spare
constexpr milliseconds kExitPatience{1000};
constexpr size_t kDatagramBytes = size_t{64} << 10;

// Folders the interpreter and the worker are read from. A virtual environment's prefix is two
// levels above its `python`, and its libraries may lie in the prefix of the real one.
std::vector<std::string> visible_folders(const WorkerConfig& config) {
  std::vector<std::string> folders = config.visible;
  std::error_code ignored;
  const fs::path python = fs::absolute(config.python, ignored);
  folders.push_back(python.parent_path().parent_path().lexically_normal());
  folders.push_back(fs::weakly_canonical(python, ignored).parent_path().parent_path());
  folders.push_back(fs::absolute(config.worker_dir, ignored).lexically_normal());
  if (!config.fake_device_library.empty()) {
    folders.push_back(fs::absolute(config.fake_device_library, ignored).parent_path());
  }
  return folders;
}

ProcessSpec process_spec(const WorkerConfig& config, const Sandbox& sandbox, int control, int err) {
  ProcessSpec spec;
  spec.argv = {config.python, config.worker_dir + "/zygote.py", "--socket", "3"};
  if (!config.fake_device_library.empty()) {
    spec.argv.insert(spec.argv.end(), {"--fake-cuda-device", config.fake_device_library});
  }
  if (!config.sandbox) spec.argv.push_back("--no-sandbox");
  spec.environment = sandbox.environment();
  // Each job is a fork, which copies the table of pages. With huge pages that takes half as long.
  spec.environment.emplace_back("GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
  spec.err = err;
  spec.fds = {control};
  return spec;
}

}  // namespace

Zygote::Zygote(std::shared_ptr<Sandbox> sandbox) : sandbox_(std::move(sandbox)) {}

Zygote::Zygote(const WorkerConfig& config)
    : Zygote(std::make_shared<Sandbox>(
          SandboxSpec{.enabled = config.sandbox, .visible = visible_folders(config)})) {
  if (config.python.empty()) throw EnvironmentError("no Python interpreter is configured");
  auto [ours, theirs] = socket_pair(SOCK_SEQPACKET);
  control_ = std::move(ours);
  set_nonblocking(control_.get());
  process_ = Process::start(process_spec(config, *sandbox_, theirs.get(), stderr_.write_end()),
                            sandbox_.get());
  theirs.reset();
  stderr_.close_write_end();
  wait_until_ready(kStartPatience);
}

std::unique_ptr<Zygote> Zygote::copy_of(Zygote& original) {
  std::unique_ptr<Zygote> out(new Zygote(original.sandbox_));
  out->walls_ = original.walls_;
  out->control_ = original.lend(out->stderr_.write_end());
  set_nonblocking(out->control_.get());
  out->stderr_.close_write_end();
  out->wait_until_ready(kStartPatience);  // a socket that was not handed over is closed
  return out;
}

UniqueFd Zygote::lend(int err) {
  auto [ours, theirs] = socket_pair(SOCK_SEQPACKET);
  const std::string message = Json({{"copy", true}}).dump();
  const std::lock_guard lock(copying_);
  const Deadline deadline = deadline_in(kStartPatience);
  const auto send = [&] {
    return send_with_fds(control_.get(), message, {theirs.get(), err}, MSG_DONTWAIT);
  };
  while (send() < 0 && errno == EAGAIN) {
    pollfd entry{control_.get(), POLLOUT, 0};
    if (::poll(&entry, 1, poll_timeout(deadline)) == 0) break;
  }
  return std::move(ours);
}

std::unique_ptr<Zygote> Zygote::lent(UniqueFd control, std::vector<SandboxLayer> walls) {
  std::unique_ptr<Zygote> out(new Zygote(std::shared_ptr<Sandbox>()));
  out->walls_ = std::move(walls);
  out->control_ = std::move(control);
  set_nonblocking(out->control_.get());
  out->stderr_.close_write_end();
  try {
    out->wait_until_ready(kCopyPatience);
  } catch (const EnvironmentError&) {
    return nullptr;
  }
  return out->gone() ? nullptr : std::move(out);  // it may have greeted and ended since
}

void Zygote::give_up(std::string fault) {
  dead_ = true;
  fault_ = std::move(fault);
}

void Zygote::take_greeting(const JsonReader& in) {
  if (!in.at("ready").boolean()) in.fail("expected to be ready");
  layers_ = walls();
  for (SandboxLayer& layer : layers_from_json(in.at("sandbox")))
    layers_.push_back(std::move(layer));
  versions_ = in.raw();
  versions_.erase("ready");
  versions_.erase("sandbox");
}

void Zygote::wait_until_ready(milliseconds patience) {
  const Deadline deadline = deadline_in(patience);
  while (!dead_) {
    std::vector<UniqueFd> fds;
    if (auto message = receive_message(&fds)) {
      try {
        take_greeting(JsonReader(*message, "zygote"));
        return;
      } catch (const InputError& error) {
        give_up("did not follow the protocol (" + one_line(error.what()) + ")");
        break;
      }
    }
    pollfd entries[] = {{control_fd(), POLLIN, 0}, {stderr_fd(), POLLIN, 0}};
    if (::poll(entries, 2, poll_timeout(deadline)) == 0) give_up("was not ready in time");
    drain_stderr();
  }
  throw EnvironmentError("the Python worker did not start: it " + obituary());
}

bool Zygote::send_job(uint64_t id, int socket, uint64_t memory_bytes) {
  const Json job = {{"job", id}, {"limits", {{"memory_bytes", memory_bytes}}}};
  const std::string message = job.dump();
  return send_with_fds(control_.get(), message, {socket}, MSG_DONTWAIT) ==
         static_cast<ssize_t>(message.size());
}

std::optional<Json> Zygote::receive_message(std::vector<UniqueFd>* fds) {
  std::string buffer(kDatagramBytes, '\0');
  ssize_t count;
  do count = receive_with_fds(control_.get(), buffer.data(), buffer.size(), fds, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  if (count <= 0) {
    dead_ = true;
    return std::nullopt;
  }
  try {
    return parse_json(std::string_view(buffer).substr(0, static_cast<size_t>(count)), "zygote");
  } catch (const InputError&) {
    give_up("did not follow the protocol");
    return std::nullopt;
  }
}

std::optional<ZygoteReport> Zygote::receive() {
  if (dead_) return std::nullopt;
  std::vector<UniqueFd> fds;
  auto message = receive_message(&fds);
  if (!message) return std::nullopt;
  try {
    return report_from_json(JsonReader(*message, "zygote"), std::move(fds));
  } catch (const InputError&) {
    give_up("did not follow the protocol");
    return std::nullopt;
  }
}

bool Zygote::gone() const {
  pollfd entry{control_.get(), 0, 0};  // POLLHUP is always told
  return dead_ || (::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLERR)));
}

std::string Zygote::obituary() {
  std::string text = fault_;
  if (text.empty() && !process_) text = "has ended: it was killed, or the one that it is a copy of";
  if (text.empty()) {
    auto status = process_.wait(deadline_in(kExitPatience));
    text = status ? describe_status(*status) : "closed its socket";
  }
  process_.kill();
  drain_stderr();
  const std::string words = stderr_.last_lines(3);
  return words.empty() ? text : text + ": " + words;
}

}  // namespace kw
