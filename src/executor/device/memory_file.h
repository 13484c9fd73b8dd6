// An anonymous file in memory that another process may map. It is sealed against resizing, so that
// a hostile holder of the descriptor can change its bytes and nothing else.
#pragma once

#include <cstdint>

#include "worker/process/unique_fd.h"

namespace kw::exec {

class MemoryFile {
 public:
  // Throws EnvironmentError if the system is out of memory or descriptors. `bytes` > 0.
  explicit MemoryFile(int64_t bytes);
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  int fd() const { return fd_.get(); }
  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  UniqueFd fd_;
  char* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace kw::exec
