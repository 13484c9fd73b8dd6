// A file that one process at a time may write.
#pragma once

#include <chrono>
#include <filesystem>

namespace kw {

// While it is there no other run has one of the file, which has to be there. InputError where
// another has it, and has it still when `patience` is over.
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
