#include "runtime/device_turns.h"

namespace kw {

DeviceTurns::Turn DeviceTurns::together() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !serving_alone_; });
  ++together_;
  return Turn([this] {
    const std::lock_guard ending(mutex_);
    if (--together_ == 0) changed_.notify_all();
  });
}

DeviceTurns::Turn DeviceTurns::alone(size_t process) {
  std::unique_lock lock(mutex_);
  ++want_alone_;
  changed_.wait(lock, [&] { return together_ == 0 && (alone_ == 0 || owner_ == process); });
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
