// Threads that judge. Each has a separate worker that lives as long as the crew. Borrows a zygote
// if one is given. One caller at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "worker/worker_pool.h"

namespace kw {

class JudgingCrew {
 public:
  // Makes `jobs` threads. The first work starts all their workers and begins when all have started.
  // They are copies of one zygote that imports torch: `shared`, of the same configuration, or the
  // crew's.
  JudgingCrew(WorkerConfig workers, int jobs, SharedZygote* shared = nullptr);
  ~JudgingCrew();
  JudgingCrew(const JudgingCrew&) = delete;
  JudgingCrew& operator=(const JudgingCrew&) = delete;

  // Calls work(pool, i) for each i below `count`, on any thread of the crew with its pool, in this
  // order as threads become free. Returns when all are done. The first exception ends it: work that
  // has not begun is left out, and the exception is thrown here.
  void run(size_t count, const std::function<void(WorkerPool&, size_t)>& work);
  int size() const { return static_cast<int>(threads_.size()); }

 private:
  void serve(const std::stop_token& stop);
  bool start(const std::stop_token& stop, WorkerPool& pool);
  // Takes the next piece of work. Returns false if the crew is to end.
  bool take(const std::stop_token& stop, size_t& index);
  void fail();  // with the exception at hand; under the mutex

  const WorkerConfig workers_;
  SharedZygote own_;  // starts nothing where there is a shared one
  SharedZygote& zygote_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  const std::function<void(WorkerPool&, size_t)>* work_ = nullptr;
  size_t next_ = 0, count_ = 0, active_ = 0;
  size_t started_ = 0;  // threads
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace kw
