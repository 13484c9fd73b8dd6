// Which programs are for training, for validation, for tests, and of pairs of operators that
// training never sees. Stated in docs/synthesis.md; hangs on structure alone, so that no list is
// kept, and a program is in one split whoever draws it.
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

// Whether no program of the other splits may have `second` read a result of `first`. About one pair
// in twenty.
bool is_held_out(const SynthOperator& first, const SynthOperator& second);

// Of programs of two operators and more; one of a single operator is in all splits.
Split split_of(const Skeleton& skeleton);

// The same for skeletons that are: operators, what reads what, parameters. SHA-256.
std::string structure_hash(const Skeleton& skeleton);

}  // namespace kw
