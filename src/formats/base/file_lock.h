// A file that one process at a time may write.
#pragma once

#include <chrono>
#include <filesystem>

namespace kw {

// An exclusive lock of a file, which must exist. It is held until the object is destroyed. The
// constructor throws InputError if another run still holds the lock when `patience` is over.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& file, std::chrono::milliseconds patience = {});
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

}  // namespace kw
