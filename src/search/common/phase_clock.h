// Where the time of a long job goes.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace kw {

// Seconds by the name of a phase. One thread; phases do not overlap.
class PhaseClock {
  using Clock = std::chrono::steady_clock;

 public:
  // Counts for `phase` until it is destroyed.
  class Scope {
   public:
    Scope(PhaseClock& clock, const std::string& phase) : seconds_(clock.seconds_[phase]) {}
    ~Scope() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    double& seconds_;
    const Clock::time_point start_ = Clock::now();
  };

  [[nodiscard]] Scope scope(const std::string& phase) { return {*this, phase}; }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  std::map<std::string, double> seconds_;
};

}  // namespace kw
