#include "runtime/serving_thread.h"

#include <algorithm>
#include <tuple>

namespace kw {

ServingThread::~ServingThread() {
  post({});
  thread_.join();
}

void ServingThread::post(Asked asked) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(asked));
  news_.notify_one();
}

ServingThread::Asked ServingThread::next() {
  const auto order = [this](const Asked& asked) -> std::tuple<int, size_t> {
    if (!asked.rank) return {0, 0};
    return {asked.rank->reference == last_ ? 1 : 2, asked.rank->trials};
  };
  const auto first = std::min_element(
      queue_.begin(), queue_.end(),
      [&](const Asked& a, const Asked& b) { return order(a) < order(b); });  // of equals the first
  Asked out = std::move(*first);
  queue_.erase(first);
  if (out.rank) last_ = out.rank->reference;
  return out;
}

void ServingThread::serve() {
  while (true) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return !queue_.empty(); });
    const Asked asked = next();
    lock.unlock();
    if (!asked.work) return;
    asked.work();
  }
}

}  // namespace kw
