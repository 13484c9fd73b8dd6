// Compiled kernels by what decides their machine code: slice, specialization and architecture.
// Candidates that differ elsewhere share them. Any thread.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "program/program.h"

namespace kw {

class KernelCache {
 public:
  // Of `bytes` of machine code; what was used least recently goes first.
  explicit KernelCache(size_t bytes = size_t{256} << 20) : budget_(bytes) {}

  // `kernel` has a source and need not be compiled.
  static std::string key(const Kernel& kernel, const std::string& arch);

  std::optional<Kernel> find(const std::string& key);
  void put(const std::string& key, const Kernel& kernel);

 private:
  using Entries = std::list<std::pair<std::string, Kernel>>;  // most recent first

  std::mutex mutex_;
  size_t budget_, bytes_ = 0;
  Entries entries_;
  std::map<std::string, Entries::iterator> by_key_;
};

}  // namespace kw
