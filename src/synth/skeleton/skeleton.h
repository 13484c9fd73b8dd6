// Skeletons of a word: which tensors each operator reads, the ranks of new ones and where they
// broadcast, and all parameters; no sizes. Counted exactly, and drawn uniformly
// (docs/synthesis.md, "Skeletons").
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
  int step = -1;  // whose result; -1: a new tensor
  int rank = 0;
  // Of a new tensor beside another operand in kBinary, a bit for each dim, the last is bit 0:
  // whether it is larger than one. Sizes of ones elsewhere.
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

// Uniform over words of this length, feasible or not.
Word draw_word(int length, const std::vector<const SynthOperator*>& operators, Random& random);

class SkeletonSpace {
 public:
  // Counts; 20 operators take 0.2 ms.
  explicit SkeletonSpace(Word word);

  // Skeletons of the word, to 13 digits; 0: no operator order gives the ranks that it needs.
  double count() const { return count_; }
  // Uniform over them; there must be some. Each step is given away as soon as it is drawn, and
  // where one is not taken, the rest is not drawn.
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
