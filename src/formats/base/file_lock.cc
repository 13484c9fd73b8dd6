#include "formats/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <thread>

#include "formats/base/error.h"

namespace kw {

FileLock::FileLock(const std::filesystem::path& file, std::chrono::milliseconds patience)
    : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  constexpr std::chrono::milliseconds kPause{20};
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;; std::this_thread::sleep_for(kPause)) {
    if (file_ < 0 || flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    if (std::chrono::steady_clock::now() >= end) break;
  }
  close(file_);
  throw InputError(file.string() + ": another run writes it; wait for that, then start this again");
}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace kw
