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

// How many times what is allowed an output's error is; infinite where something else than the size
// of errors counts.
double times_allowed(const OutputErrors& errors);
// Whether one element of many has most of the squared error, however large that is.
bool is_of_one_element(const OutputErrors& errors);

// Empty when the output passes, else the reason in one line. An output of few elements says little
// about the reference's error: one trial finds gross faults only, and ErrorPool judges the rest.
std::string output_fault(const OutputErrors& errors, Tolerance tolerance);

// The same of a trial on integers, where any missed one counts.
std::string integer_fault(const OutputErrors& errors);

// Outputs of fewer elements than this are judged by the errors of all trials together.
constexpr int64_t kFewElements = 64;

// The mean square errors of outputs of few elements over trials on plain inputs. Absolute: were
// they relative, one trial whose result is near zero would outweigh all others.
class ErrorPool {
 public:
  // Trials that make a right kernel fail in about 1 of 10,000 verdicts (F distribution with 10 and
  // 10 degrees of freedom beyond 16).
  static constexpr int kTrials = 10;

  // Allows `factor` times what ten trials allow, for pools of fewer trials.
  explicit ErrorPool(double factor = 1) : factor_(factor) {}
  void add(const std::vector<OutputErrors>& outputs);
  // Empty when all pass, else the reason in one line.
  std::string fault() const;
  // Of the first that does not pass: how many times what is allowed its error is; else 0.
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

// The largest relative RMS and worst error that pass; what reports show beside what was measured.
struct ErrorBounds {
  double rms = 0, worst = 0;
};
ErrorBounds error_bounds(const OutputErrors& errors);

}  // namespace kw
