#include "runtime/device_turns.h"

namespace kw {

DeviceTurns::Turn DeviceTurns::together() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !serving_alone_ && impatient_.empty(); });
  ++together_;
  return Turn([this] {
    const std::lock_guard ending(mutex_);
    if (--together_ > 0) return;
    serving_alone_ = want_alone_ > 0;  // at once, or who comes next would be there first
    changed_.notify_all();
  });
}

DeviceTurns::Turn DeviceTurns::alone(size_t process) {
  std::unique_lock lock(mutex_);
  ++want_alone_;
  const auto free = [&] {
    const bool is_next = impatient_.empty() || impatient_.front() == process;
    return together_ == 0 && is_next && (alone_ == 0 || owner_ == process);
  };
  if (!changed_.wait_for(lock, patience_, free)) {
    const auto place = impatient_.insert(impatient_.end(), process);
    changed_.wait(lock, free);
    impatient_.erase(place);
    changed_.notify_all();  // the next one may be another process's
  }
  --want_alone_;
  ++alone_;
  owner_ = process;
  serving_alone_ = true;
  return Turn([this] {
    const std::lock_guard ending(mutex_);
    if (--alone_ > 0) return;
    serving_alone_ = want_alone_ > 0;
    changed_.notify_all();
  });
}

}  // namespace kw
