// Synthesised programs: word, skeleton and sizes, drawn from a seed (docs/synthesis.md).
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
  std::vector<int64_t> slots;                // of its SizeProblem: what `shapes` come from
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
  std::optional<Split> split;  // programs of this split alone, from level 2 on
  // Words are no draws: they go through all operators (level 1) or ordered pairs of them (level 2),
  // shuffled anew for each time around.
  bool cover = false;
};

// What it took, over all programs drawn so far.
struct SynthCounts {
  int64_t words = 0, words_without_ranks = 0;
  int64_t skeletons = 0, contradictions = 0, empty = 0;
  int64_t of_other_splits = 0;  // programs
  // Not proved to have no sizes, and given up: sizes that must agree and could not be solved, draws
  // whose tries were used up, words none of whose skeletons had sizes. The only rejections that are
  // not exact.
  int64_t unsolved = 0, timed_out = 0, words_given_up = 0;
  int64_t tries = 0;
  SynthCounts& operator+=(const SynthCounts& other);
};

class Synthesiser {
 public:
  // InputError where there is nothing to cover.
  explicit Synthesiser(SynthOptions options);
  const SynthOptions& options() const { return options_; }
  // The numbers of an index, from which its programs are drawn, one after the other.
  Random random(uint64_t index, uint64_t stream = 0) const {
    return Random(options_.seed, index, stream);
  }
  // The next program of an index, after `before` others: it hangs on the options and on `random`
  // alone. Where words are covered, one that so many programs were in vain for gives its place to
  // another. InputError where thousands of words give none.
  static constexpr uint64_t kMostOfWord = 64;
  SynthProgram draw(uint64_t index, uint64_t before, Random& random, SynthCounts& counts) const;
  // The same, but nothing as soon as so many skeletons were in vain.
  std::optional<SynthProgram> find(uint64_t index, uint64_t before, int64_t most_skeletons,
                                   Random& random, SynthCounts& counts) const;

 private:
  void find_cycle();
  const Word& covered(uint64_t index) const;
  // Uniform over skeletons of the word that have sizes, of at most so many that are drawn; nothing
  // where none is found. One of another split is drawn again, or ends it.
  enum class Elsewhere { kDrawAgain, kEnd };
  std::optional<SynthProgram> of_word(const SkeletonSpace& space, Elsewhere elsewhere, int64_t most,
                                      Random& random, SynthCounts& counts) const;

  SynthOptions options_;
  std::vector<Word> cycle_;  // none where words are drawn
};

// The same skeleton in other sizes; none where it has none within the limits.
std::optional<SynthProgram> resize(const SynthProgram& program, const DimsLimits& limits,
                                   Random& random);

// What the texts call each tensor: x0.. inputs, w0.. parameters and buffers, t0.. results.
std::vector<std::string> tensor_names(const SynthProgram& program);

// PyTorch text: a model file (Model, get_inputs, get_init_inputs), and one function of all tensors.
std::string model_text(const SynthProgram& program);
std::string fused_operator_text(const SynthProgram& program);

}  // namespace kw
