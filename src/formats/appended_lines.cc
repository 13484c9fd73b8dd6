#include "formats/appended_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "formats/base/error.h"
#include "formats/output.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Returns whether the path leads to the open file. The run that had the lock before may have
// removed the file.
bool leads_to(const fs::path& path, int descriptor) {
  struct stat there = {}, open = {};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(descriptor, &open) == 0 &&
         there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

[[noreturn]] void refuse_write(const fs::path& file, const std::string& then = "") {
  throw EnvironmentError("cannot write " + file.string() + ": " + std::strerror(errno) + then);
}

}  // namespace

LinesEnd read_whole_lines(const fs::path& file, const TakeLine& take) {
  LineReader lines(file);
  LinesEnd end;
  for (; lines.next(end.rest) && lines.is_whole(); end.bytes += end.rest.size() + 1) {
    take(end.rest, lines);
  }
  return end;
}

AppendedLines::AppendedLines(const fs::path& file, std::chrono::milliseconds patience)
    : file_(file) {
  check_out_file(file_);
  do {
    lock_.reset();
    open();
    try {
      lock_.emplace(file_, patience);
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  } while (!leads_to(file_, descriptor_));
}

void AppendedLines::open() {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = ::open(file_.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
  made_ = descriptor_ >= 0;
  if (!made_ && errno == EEXIST) descriptor_ = ::open(file_.c_str(), kFlags);
  if (descriptor_ < 0) refuse_write(file_);
}

AppendedLines::~AppendedLines() {
  struct stat state = {};
  if (made_ && ::fstat(descriptor_, &state) == 0 && state.st_size == 0) ::unlink(file_.c_str());
  ::close(descriptor_);
}

void AppendedLines::cut(uintmax_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) refuse_write(file_);
}

void AppendedLines::append(std::string_view line) {
  std::string text(line);
  text += '\n';
  for (std::string_view rest = text; !rest.empty();) {  // a disk that is full takes a part
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno != EINTR) {
      refuse_write(file_, "; what is there is kept, and the same command goes on with the rest");
    }
    if (count > 0) rest.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace kw
