// Turns on a device that several processes share: a process uses it together with the others, or
// alone. Torch-free. Any thread may call.
//
// A caller that wants to be alone waits until nobody uses the device. For some seconds it lets
// others come in meanwhile. Judging threads thus gather one by one, and then all of them are
// served, process by process, before others come in again. So timing does not wait for the longest
// trial each time, and does not keep other trials from beginning.
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

  // The caller's turn lasts until this is destroyed. One made without an end is no turn.
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

  // Both wait for their turn. Turns of one process may be alone at the same time, as it does one
  // thing at a time. Others join them until a caller has waited too long. Such callers are then
  // served first, in the order in which their patience ended.
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
