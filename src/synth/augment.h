// A model file in other sizes (docs/synthesis.md, "A task in other sizes"): its integer constants
// are drawn anew, and what then runs, is a fair task and has shapes of its own is taken.
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
  std::string file;  // what records say
  std::string text;
  uint64_t seed = 1;
  bool hygiene = true;  // or take whatever runs
};

// A proposal and what became of it.
struct Augmented {
  uint64_t proposal = 0;  // 0, 1, ..: with the options, all that it hangs on
  std::vector<ModelConstant> constants;
  std::string text;
  double flops = 0;
  Task task;           // empty where it does not run
  std::string reason;  // why it is not taken; empty where it is
};

// Constants of the proposal: each with probability 1/2 drawn anew, one at least. Larger ones by a
// factor of 1/4 to 4, uniform in its logarithm, and as often as not divisible by the same power of
// two; those below 16 by one more or less, halved or doubled. Below 1 they stay.
std::vector<ModelConstant> propose(const std::vector<ModelConstant>& constants, Random& random);

// The shapes and dtypes that tell tasks of one model apart: of its inputs and its state.
std::string shapes_of(const Task& task);

class Augmenter {
 public:
  // Programs of more than so many times the original's operations or bytes are not taken.
  static constexpr double kMostTimes = 4;

  // Records the original, and examines it. InputError where it does not run, or is no fair task, or
  // has no constants.
  Augmenter(AugmentOptions options, Examiner& examiner);

  // The next proposals, from `begin` on, as many as the machine takes at once, or up to the one
  // with which `most` are taken; in order. `shapes` has those that are taken, and gets those taken
  // here.
  std::vector<Augmented> next(uint64_t begin, uint64_t most, std::set<std::string>& shapes);

 private:
  AugmentOptions options_;
  Examiner& examiner_;
  std::vector<ModelConstant> constants_;
  std::string original_shapes_;
  double most_flops_ = 0, most_bytes_ = 0;
};

}  // namespace kw
