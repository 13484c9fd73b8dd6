// A cache of compiled kernels. The key is what decides their machine code: slice, specialization
// and architecture. Candidates that differ elsewhere share kernels. Any thread may call.
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
  // Holds at most `bytes` of machine code and drops the least recently used kernel first.
  explicit KernelCache(size_t bytes = size_t{256} << 20) : budget_(bytes) {}

  // Returns the key of a kernel that has a source; it need not be compiled.
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
