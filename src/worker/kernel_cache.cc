#include "worker/kernel_cache.h"

#include "formats/base/sha256.h"
#include "program/task_json.h"

namespace kw {

std::string KernelCache::key(const Kernel& kernel, const std::string& arch) {
  Kernel uncompiled = kernel;
  uncompiled.compiled.reset();
  return sha256_hex(arch + "\n" + to_json(uncompiled).dump());
}

std::optional<Kernel> KernelCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void KernelCache::put(const std::string& key, const Kernel& kernel) {
  const size_t size = kernel.compiled->cubin.size() + kernel.source.size();
  const std::lock_guard lock(mutex_);
  if (size > budget_ || by_key_.contains(key)) return;
  entries_.emplace_front(key, kernel);
  by_key_[key] = entries_.begin();
  for (bytes_ += size; bytes_ > budget_; entries_.pop_back()) {
    const auto& [oldest, old] = entries_.back();
    bytes_ -= old.compiled->cubin.size() + old.source.size();
    by_key_.erase(oldest);
  }
}

}  // namespace kw
