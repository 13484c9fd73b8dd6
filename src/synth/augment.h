// Writes a model file in other sizes (docs/synthesis.md, "A task in other sizes"). Its integer
// constants are drawn again. A result is taken if it runs, is a fair task and has new shapes.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "formats/model_constants.h"
#include "synth/hygiene.h"
#include "synth/skeleton/random.h"

namespace kw {

struct AugmentOptions {
  std::string file;  // name in records
  std::string text;
  uint64_t seed = 1;
  bool hygiene = true;  // if false, every proposal that runs is taken
};

// A proposal and what became of it.
struct Augmented {
  uint64_t proposal = 0;  // 0, 1, ..: it depends on this and the options alone
  std::vector<ModelConstant> constants;
  std::string text;
  double flops = 0;
  Task task;           // empty if it does not run
  std::string reason;  // why it is not taken; empty if it is
};

// Returns the constants of a proposal. Each is drawn again with probability 1/2, and at least one
// is. Constants from 16 on change by a factor of 1/4 to 4, uniform in its logarithm; half of them
// stay divisible by the same power of two. Smaller ones change by one, or are halved or doubled.
// Constants below 1 stay.
std::vector<ModelConstant> propose(const std::vector<ModelConstant>& constants, Random& random);

// Returns the shapes and dtypes of inputs and state, which tell tasks of one model apart.
std::string shapes_of(const Task& task);

class Augmenter {
 public:
  // Programs of more than this many times the original's operations or bytes are not taken.
  static constexpr double kMostTimes = 4;

  // Records the original, and examines it. Throws InputError if it does not run, is no fair task,
  // or has no constants.
  Augmenter(AugmentOptions options, Examiner& examiner);

  // Returns the next proposals in order, from `begin` on: as many as the machine takes at once, or
  // up to the one with which `most` are taken. `shapes` has the shapes taken so far, and gets new
  // ones.
  std::vector<Augmented> next(uint64_t begin, uint64_t most, std::set<std::string>& shapes);

 private:
  AugmentOptions options_;
  Examiner& examiner_;
  std::vector<ModelConstant> constants_;
  std::string original_shapes_;
  double most_flops_ = 0, most_bytes_ = 0;
};

}  // namespace kw
