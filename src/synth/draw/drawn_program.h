// Draws programs from a seed: a word, a skeleton and sizes (docs/synthesis.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/dtype.h"
#include "synth/draw/split.h"
#include "synth/sizes/dims.h"
#include "synth/skeleton/skeleton.h"

namespace kw {

struct SynthProgram {
  Skeleton skeleton;
  ShapedSkeleton shaped;
  std::vector<std::vector<int64_t>> shapes;  // by tensor of `shaped`
  std::vector<int64_t> slots;                // of its SizeProblem: `shapes` follow from them
  DType dtype = DType::kFloat32;             // of every tensor but indices
  double flops = 0;
  double low_flops = 0, high_flops = 0;  // the window
};

struct SynthOptions {
  int level = 5;  // operators
  uint64_t seed = 1;
  DType dtype = DType::kFloat32;
  DimsLimits limits;
  std::vector<const SynthOperator*> operators = pointers(csp_dag_operators());
  std::optional<Split> split;  // only programs of this split, from level 2 on
  // Words are not drawn. They cycle through all operators (level 1) or all ordered pairs (level 2),
  // in a new random order each cycle.
  bool cover = false;
};

// What drawing took, over all programs so far.
struct SynthCounts {
  int64_t words = 0, words_without_ranks = 0;
  int64_t skeletons = 0, contradictions = 0, empty = 0;
  int64_t of_other_splits = 0;  // programs
  // Given up without a proof that there are no sizes. These are equations between sizes that could
  // not be solved, draws without tries left, and words none of whose skeletons had sizes. All other
  // rejections are exact.
  int64_t unsolved = 0, timed_out = 0, words_given_up = 0;
  int64_t tries = 0;
  SynthCounts& operator+=(const SynthCounts& other);
};

class Synthesiser {
 public:
  // Throws InputError if there is nothing to cover.
  explicit Synthesiser(SynthOptions options);
  const SynthOptions& options() const { return options_; }
  // Returns the random numbers of an index, from which its programs are drawn one after the other.
  Random random(uint64_t index, uint64_t stream = 0) const {
    return Random(options_.seed, index, stream);
  }
  // Returns the next program of an index, after `before` others. It depends on the options and on
  // `random` alone. If words are covered, a word that kMostOfWord programs were in vain for gives
  // its place to another. Throws InputError if thousands of words give no program.
  static constexpr uint64_t kMostOfWord = 64;
  SynthProgram draw(uint64_t index, uint64_t before, Random& random, SynthCounts& counts) const;
  // Does the same, but returns nothing once `most_skeletons` skeletons were in vain.
  std::optional<SynthProgram> find(uint64_t index, uint64_t before, int64_t most_skeletons,
                                   Random& random, SynthCounts& counts) const;

 private:
  void find_cycle();
  const Word& covered(uint64_t index) const;
  // Draws uniformly from the skeletons of the word that have sizes, `most` skeletons at most.
  // Returns nothing if none is found. A program of another split is drawn again, or ends the
  // search.
  enum class Elsewhere { kDrawAgain, kEnd };
  std::optional<SynthProgram> of_word(const SkeletonSpace& space, Elsewhere elsewhere, int64_t most,
                                      Random& random, SynthCounts& counts) const;

  SynthOptions options_;
  std::vector<Word> cycle_;  // empty if words are drawn
};

// Returns the same skeleton in other sizes; nothing if it has none within the limits.
std::optional<SynthProgram> resize(const SynthProgram& program, const DimsLimits& limits,
                                   Random& random);

// Returns the name of each tensor in the texts: x0.. for inputs, w0.. for parameters and buffers,
// t0.. for results.
std::vector<std::string> tensor_names(const SynthProgram& program);

// Return PyTorch text: a model file (Model, get_inputs, get_init_inputs), and one function of all
// tensors.
std::string model_text(const SynthProgram& program);
std::string fused_operator_text(const SynthProgram& program);

}  // namespace kw
