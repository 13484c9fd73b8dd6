// Synthesised programs: word, skeleton and sizes, drawn from a seed (docs/synthesis.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/dtype.h"
#include "synth/dims.h"
#include "synth/skeleton.h"

namespace kw {

struct SynthProgram {
  Skeleton skeleton;
  ShapedSkeleton shaped;
  std::vector<std::vector<int64_t>> shapes;  // by tensor of `shaped`
  DType dtype = DType::kFloat32;             // of every tensor but indices
  double flops = 0;
  double low_flops = 0, high_flops = 0;  // the window
};

struct SynthOptions {
  int level = 5;  // operators
  uint64_t seed = 1;
  DType dtype = DType::kFloat32;
  DimsLimits limits;
  std::vector<const SynthOperator*> operators = all_synth_operators();
};

// What it took, over all programs drawn so far.
struct SynthCounts {
  int64_t words = 0, words_without_ranks = 0;
  int64_t skeletons = 0, contradictions = 0, empty = 0;
  // Not proved to have no sizes, and given up: sizes that must agree and could not be solved, draws
  // whose tries were used up, words none of whose skeletons had sizes. The only rejections that are
  // not exact.
  int64_t unsolved = 0, timed_out = 0, words_given_up = 0;
  int64_t tries = 0;
  SynthCounts& operator+=(const SynthCounts& other);
};

// The next program of a sequence: it hangs on the options and on `random` alone. InputError where
// thousands of words give none.
SynthProgram synthesise(const SynthOptions& options, Random& random, SynthCounts& counts);

// The same skeleton in other sizes; none where it has none within the limits.
std::optional<SynthProgram> resize(const SynthProgram& program, const DimsLimits& limits,
                                   Random& random);

// The same for programs that differ in sizes and dtype alone: operators, what reads what,
// parameters, and which sizes are equal. SHA-256.
std::string synth_structure(const SynthProgram& program);

// What the texts call each tensor: x0.. inputs, w0.. parameters and buffers, t0.. results.
std::vector<std::string> tensor_names(const SynthProgram& program);

// PyTorch text: a model file (Model, get_inputs, get_init_inputs), and one function of all tensors.
std::string model_text(const SynthProgram& program);
std::string fused_operator_text(const SynthProgram& program);

}  // namespace kw
