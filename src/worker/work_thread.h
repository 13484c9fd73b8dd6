// A thread that runs pieces of work one after the other and lives as long as its owner. Code that
// uses a WorkerPool runs on a thread that outlives the pool. A worker dies with the thread that
// started it, and after its death the thread with the next job starts another. Any thread may call.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>

namespace kw {

class WorkThread {
 public:
  // Runs `work` after all earlier work. The future returns or throws what it does. The caller waits
  // for the future before it destroys anything that the work uses.
  template <class Work>
  std::future<std::invoke_result_t<Work&>> begin(Work work) {
    using Result = std::invoke_result_t<Work&>;
    // Shared, as a std::function is copied.
    auto task = std::make_shared<std::packaged_task<Result()>>(std::move(work));
    std::future<Result> out = task->get_future();
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back([task] { (*task)(); });
    changed_.notify_one();
    return out;
  }

 private:
  void live(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;
  std::jthread thread_{[this](const std::stop_token& stop) { live(stop); }};  // uses the others
};

}  // namespace kw
