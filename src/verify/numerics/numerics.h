// When is an output right? Errors are measured against an fp64 run of the reference and compared
// with the reference's own error in its own precision (docs/numerics.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol.h"

namespace kw {

enum class Tolerance {
  kCalibrated,   // relative RMS within 4x, worst error within 8x of the reference's own
  kKernelBench,  // |c - r| <= 1e-2 + 1e-2 |r|, integers too, on inputs as the task draws them: for
                 // comparison with published numbers
};

// Returns an output's error as a multiple of what is allowed; infinite if something else than the
// size of errors counts.
double times_allowed(const OutputErrors& errors);
// Returns whether one element of many has most of the squared error, however large that is.
bool is_of_one_element(const OutputErrors& errors);

// Returns why the output does not pass, in one line; empty if it passes. An output of few elements
// says little about the reference's error: one trial finds gross faults only, and ErrorPool judges
// the rest.
std::string output_fault(const OutputErrors& errors, Tolerance tolerance);

// Does the same for a trial on integers, where every missed one counts.
std::string integer_fault(const OutputErrors& errors);

// Outputs of fewer elements than this are judged by the errors of all trials together.
constexpr int64_t kFewElements = 64;

// The mean square errors of outputs of few elements over trials on plain inputs. They are absolute:
// if they were relative, one trial whose result is near zero would outweigh all others.
class ErrorPool {
 public:
  // With so many trials a right kernel fails in about 1 of 10,000 verdicts (F distribution with 10
  // and 10 degrees of freedom beyond 16).
  static constexpr int kTrials = 10;

  // Allows `factor` times what ten trials allow, for pools of fewer trials.
  explicit ErrorPool(double factor = 1) : factor_(factor) {}
  void add(const std::vector<OutputErrors>& outputs);
  // Returns why an output does not pass, in one line; empty if all pass.
  std::string fault() const;
  // Returns the error of the first output that does not pass as a multiple of what is allowed; else
  // 0.
  double times_allowed() const;

 private:
  struct Sums {
    double candidate = 0, reference = 0, near = 0, oracle = 0, floor = 0, flushed = 0;
    int trials = 0;
  };
  struct Excess {  // of the first output that does not pass
    size_t output;
    int trials;
    double candidate, reference, allowed;
  };
  std::optional<Excess> excess() const;

  double factor_;
  std::vector<Sums> sums_;  // by output
};

// The largest relative RMS and worst error that pass. Reports show them next to the measured ones.
struct ErrorBounds {
  double rms = 0, worst = 0;
};
ErrorBounds error_bounds(const OutputErrors& errors);

}  // namespace kw
