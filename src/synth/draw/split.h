// Decides which programs are for training, for validation, for tests, and which have pairs of
// operators that training never sees (docs/synthesis.md). The split depends on structure alone. So
// no list is kept, and a program is in the same split in every run.
#pragma once

#include <string_view>

#include "synth/skeleton/skeleton.h"

namespace kw {

enum class Split {
  kTrain,
  kValidation,
  kTest,
  kUnseen,  // some step reads a result by a pair of operators that is held out
};
std::string_view split_name(Split split);
Split parse_split(std::string_view name);  // InputError

// Returns whether `second` may read a result of `first` in programs of kUnseen alone. About one
// pair in twenty is held out.
bool is_held_out(const SynthOperator& first, const SynthOperator& second);

// Returns the split of a program of two or more operators; a single operator is in all splits.
Split split_of(const Skeleton& skeleton);

// Returns a SHA-256 hash of operators, what reads what, and parameters: equal for equal skeletons.
std::string structure_hash(const Skeleton& skeleton);

}  // namespace kw
