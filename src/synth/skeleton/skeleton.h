// Counts skeletons of a word exactly, and draws them uniformly (docs/synthesis.md, "Skeletons"). A
// skeleton says which tensors each operator reads, the ranks of new tensors and where they
// broadcast, and all parameters. It has no sizes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "synth/skeleton/few.h"
#include "synth/skeleton/parameters.h"
#include "synth/skeleton/random.h"
#include "synth/skeleton/synth_operators.h"

namespace kw {

// One argument: the result of an earlier step, or a new tensor.
struct Operand {
  int step = -1;  // the step whose result it is; -1: a new tensor
  int rank = 0;
  // For a new tensor that is one of two operands in kBinary: which dims are larger than one. Bit 0
  // is the last dim. The other dims have size one.
  uint32_t mask = 0;
};

using Operands = Few<Operand, 2>;

struct SynthStep {
  const SynthOperator* op = nullptr;
  const Parameters* parameters = nullptr;  // one of parameter_sets
  Operands operands;
};

using Word = std::vector<const SynthOperator*>;
using Skeleton = std::vector<SynthStep>;

// Draws a word uniformly from the words of this length, feasible or not.
Word draw_word(int length, const std::vector<const SynthOperator*>& operators, Random& random);

class SkeletonSpace {
 public:
  // Counts the skeletons; 20 operators take 0.2 ms.
  explicit SkeletonSpace(Word word);

  // Returns the number of skeletons of the word, to 13 digits; 0 if no operator order gives the
  // ranks that it needs.
  double count() const { return count_; }
  // Draws a skeleton uniformly; there must be one. Gives each step to `take` as soon as it is
  // drawn. If `take` returns false, the rest is not drawn.
  void draw(Random& random, const std::function<bool(SynthStep)>& take) const;
  Skeleton draw(Random& random) const;

 private:
  using Histogram = std::array<int, kRanks + 1>;  // results by rank, 1 to 5

  double remaining(int step, const Histogram& results) const {
    return remaining_[step][index(results)];
  }
  static size_t index(const Histogram& results);
  void count_step(int step, int readable, const Histogram& least, const Histogram& most);
  bool any() const;

  Word word_;
  // [step][results by rank]: ways to go on from there.
  std::vector<std::vector<double>> remaining_;
  double count_ = 0;
};

}  // namespace kw
