// Learns how far a policy's first guesses are off, by family.
#pragma once

#include <cmath>
#include <map>
#include <string>

namespace kw {

// Keeps measured over guessed times of fragments. A guess that is off for one fragment of a family
// is off for others of the family. Used by one thread.
class FamilyBias {
 public:
  void learn(const std::string& family, double measured_over_guessed) {
    if (!(measured_over_guessed > 0) || !std::isfinite(measured_over_guessed)) return;
    Logs& logs = logs_[family];
    logs.sum += std::log(measured_over_guessed);
    ++logs.count;
  }
  // Returns the geometric mean so far, a little nearer to 1: one measurement is not a rule.
  double factor(const std::string& family) const {
    constexpr double kDoubt = 0.3;
    const auto found = logs_.find(family);
    if (found == logs_.end()) return 1;
    return std::exp(found->second.sum / (found->second.count + kDoubt));
  }

 private:
  struct Logs {
    double sum = 0;
    int count = 0;
  };
  std::map<std::string, Logs> logs_;
};

}  // namespace kw
