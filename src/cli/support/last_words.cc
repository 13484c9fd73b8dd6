#include "cli/support/last_words.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

int g_ends[2] = {-1, -1};  // of a pipe: to read, to write

void on_signal(int number) {
  const int before = errno;
  std::signal(number, SIG_DFL);  // the next one ends it at once
  const auto byte = static_cast<unsigned char>(number);
  (void)!::write(g_ends[1], &byte, 1);
  errno = before;
}

}  // namespace

LastWords::LastWords(std::function<void()> say) : say_(std::move(say)) {
  if (::pipe2(g_ends, O_CLOEXEC) != 0) {
    throw EnvironmentError(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  thread_ = std::thread([this] { wait(); });
  for (int number : {SIGINT, SIGTERM}) {  // what is ignored, as in a shell's background, stays so
    if (std::signal(number, on_signal) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

LastWords::~LastWords() {
  for (int number : {SIGINT, SIGTERM}) {
    if (std::signal(number, SIG_DFL) == SIG_IGN) std::signal(number, SIG_IGN);
  }
  const unsigned char none = 0;
  (void)!::write(g_ends[1], &none, 1);
  thread_.join();
  for (int& end : g_ends) ::close(std::exchange(end, -1));
}

void LastWords::wait() {
  unsigned char number = 0;
  while (::read(g_ends[0], &number, 1) < 0 && errno == EINTR) {
  }
  if (number == 0) return;
  say_();
  remove_scratch_folders();
  ::_exit(128 + number);
}

}  // namespace kw
