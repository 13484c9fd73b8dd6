// Measures on what the time of a request is spent.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "executor/aten/backend.h"

namespace kw::exec {

// Adds seconds by phase to `out`. `out` and `backend` must outlive this.
class Phases {
 public:
  Phases(Backend& backend, std::map<std::string, double>& out) : backend_(backend), out_(out) {}
  // Counts the time since the last call, or since the construction, to `phase`.
  void end(const char* phase) {
    backend_.synchronize();
    const auto now = Clock::now();
    out_[phase] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Backend& backend_;
  std::map<std::string, double>& out_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace kw::exec
