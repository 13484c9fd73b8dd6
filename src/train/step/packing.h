// Texts to learn from, and their packing into rows of one length, so that few places of a batch are
// empty. Torch-free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/tokens/tokenizer.h"

namespace kw::train {

// A prompt and its answer. The model learns to write the tokens from `answer` on; it only reads the
// earlier ones.
struct Example {
  std::vector<TokenId> tokens;
  size_t answer = 0;  // at least 1: a first token follows nothing

  size_t learned() const { return tokens.size() - answer; }
};

// Returns rows of at most `capacity` places; each holds the numbers of its texts, and each text is
// in one row. The longest text comes first, and each goes into the row where it leaves the least
// room (best-fit decreasing, Johnson 1973). No text may be longer than a row. Deterministic.
std::vector<std::vector<size_t>> pack(const std::vector<size_t>& lengths, size_t capacity);

}  // namespace kw::train
