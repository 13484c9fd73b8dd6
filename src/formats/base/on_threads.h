// Independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

namespace kw {

// Calls work(0) ... work(count - 1), in this order, from up to `threads` threads, of which the
// caller's is one. An exception is thrown on when all threads have ended; the others go on.
template <class Work>
void on_threads(int threads, size_t count, const Work& work) {
  std::atomic<size_t> next{0};
  const auto live = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::future<void>> others;
  const size_t wanted = std::min(count, static_cast<size_t>(std::max(threads, 1)));
  for (size_t i = 1; i < wanted; ++i) others.push_back(std::async(std::launch::async, live));
  live();
  for (std::future<void>& other : others) other.get();
}

}  // namespace kw
