// Turns on a device that several processes share: together with the others, or one process alone.
// Torch-free. Any thread may ask.
//
// Who wants to be alone waits until nobody is there, and holds up nobody for some seconds: threads
// that judge end up waiting for it one by one, and then all of them are served, process by process,
// before others come in again. So what is timed after long trials does not wait for the longest of
// them each time, nor keeps the others from beginning.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace kw {

class DeviceTurns {
 public:
  // `patience`: for how long others may come in while somebody waits to be alone.
  explicit DeviceTurns(std::chrono::milliseconds patience = std::chrono::seconds(4))
      : patience_(patience) {}

  // A caller's, until it is destroyed; nobody's, made without an end.
  class Turn {
   public:
    explicit Turn(std::function<void()> end = {}) : end_(std::move(end)) {}
    Turn(Turn&& other) noexcept : end_(std::exchange(other.end_, {})) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (end_) end_();
    }

   private:
    std::function<void()> end_;
  };

  // Both wait for their turn. Turns of one process are alone together, as it does one thing at a
  // time; others join them until somebody has waited too long. Those are then served in the order
  // in which they lost their patience, and nobody passes them.
  Turn together();
  Turn alone(size_t process);

 private:
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t together_ = 0, alone_ = 0;  // turns that are held
  size_t owner_ = 0;                 // of those alone
  size_t want_alone_ = 0;            // callers that wait
  std::list<size_t> impatient_;      // processes of those that waited too long, oldest first
  bool serving_alone_ = false;       // until none of them is left
};

}  // namespace kw
