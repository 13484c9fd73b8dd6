#include "verify/batch/crew.h"

#include <algorithm>
#include <stop_token>

namespace kw {

JudgingCrew::JudgingCrew(WorkerConfig workers, int jobs, SharedZygote* shared)
    : workers_(std::move(workers)), own_(workers_), zygote_(shared ? *shared : own_) {
  for (int i = 0; i < std::max(1, jobs); ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
  }
}

JudgingCrew::~JudgingCrew() {
  for (std::jthread& thread : threads_) thread.request_stop();
  changed_.notify_all();
}

void JudgingCrew::fail() {
  if (!failure_) failure_ = std::current_exception();
  next_ = count_;
}

// At the first work; nothing else happens while torch is imported.
bool JudgingCrew::start(const std::stop_token& stop, WorkerPool& pool) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [&] { return work_ != nullptr; })) return false;
  lock.unlock();
  try {
    pool.start();
    lock.lock();
  } catch (...) {
    lock.lock();
    fail();
  }
  ++started_;
  changed_.notify_all();
  return true;
}

bool JudgingCrew::take(const std::stop_token& stop, size_t& index) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return work_ && started_ == threads_.size() && next_ < count_; };
  if (!changed_.wait(lock, stop, ready)) return false;
  index = next_++;
  ++active_;
  return true;
}

void JudgingCrew::serve(const std::stop_token& stop) {
  WorkerPool pool(workers_, &zygote_);
  if (!start(stop, pool)) return;
  for (size_t index = 0; take(stop, index);) {
    std::unique_lock lock(mutex_, std::defer_lock);
    try {
      (*work_)(pool, index);
      lock.lock();
    } catch (...) {
      lock.lock();
      fail();
    }
    --active_;
    changed_.notify_all();
  }
}

void JudgingCrew::run(size_t count, const std::function<void(WorkerPool&, size_t)>& work) {
  if (count == 0) return;
  std::unique_lock lock(mutex_);
  work_ = &work;
  next_ = 0;
  count_ = count;
  failure_ = nullptr;
  changed_.notify_all();
  changed_.wait(lock,
                [&] { return next_ >= count_ && active_ == 0 && started_ == threads_.size(); });
  work_ = nullptr;
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace kw
