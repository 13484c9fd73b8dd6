#include "train/serve/serve.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "formats/base/error.h"
#include "policy/model_server.h"
#include "train/serve/chat_server.h"

namespace kw::train {
namespace {

// Each connection is a thread. Requests wait for a row, so that a free one finds the next there,
// and a few more come and go.
constexpr int64_t kMostWaiting = 256, kSpare = 8;

// Returns a descriptor that is readable when a signal to end has come. Blocks the signals for this
// thread and those that it starts.
UniqueFd end_signals() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  return UniqueFd(::signalfd(-1, &ends, SFD_CLOEXEC));
}

bool ended(int input) {
  char bytes[4096];
  const ssize_t n = ::read(input, bytes, sizeof bytes);
  return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

void wait_for_end(int input, int signals, const Answerer& answerer) {
  while (true) {
    pollfd entries[] = {{input, POLLIN, 0}, {signals, POLLIN, 0}, {answerer.fault_fd(), POLLIN, 0}};
    if (::poll(entries, 3, -1) < 0) continue;
    if (entries[2].revents) throw EnvironmentError(answerer.fault());
    if (entries[1].revents || (entries[0].revents && ended(input))) return;
  }
}

}  // namespace

void serve(const ServeOptions& options, int input) {
  const UniqueFd signals = end_signals();
  Answerer answerer(options.model, options.answers);
  const ChatServer server(
      options.socket,
      [&](const ChatRequest& request, const std::function<bool()>& wanted) {
        return answerer.answer(request, wanted);
      },
      {.connections = static_cast<int>(options.answers.rows +
                                       std::min(options.answers.rows, kMostWaiting) + kSpare)});
  // The server waits for its answers, so they end first.
  struct Stop {
    Answerer& answerer;
    ~Stop() { answerer.stop(); }
  } const stop{answerer};
  std::fprintf(stderr, "kernelwright-trainer: %s: %s on %s\n", kServerIsReady,
               answerer.description().c_str(), options.socket.c_str());
  wait_for_end(input, signals.get(), answerer);
}

}  // namespace kw::train
