#include "executor/device/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "formats/base/error.h"

namespace kw::exec {

MemoryFile::MemoryFile(int64_t bytes) : bytes_(bytes) {
  fd_.reset(memfd_create("kernelwright-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool made = fd_ && ftruncate(fd_.get(), bytes) == 0 &&
                    fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  void* data =
      made ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0) : MAP_FAILED;
  if (data == MAP_FAILED) {
    throw EnvironmentError("cannot make a buffer of " + std::to_string(bytes) +
                           " bytes for the interpreter: " + std::strerror(errno));
  }
  data_ = static_cast<char*>(data);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

MemoryFile::~MemoryFile() {
  if (data_) munmap(data_, bytes_);
}

}  // namespace kw::exec
