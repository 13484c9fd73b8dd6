// Texts to learn from, and how they are put behind each other into rows of one length, so that few
// places of a batch are empty. Torch-free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/tokens/tokenizer.h"

namespace kw {

// A prompt and its answer. The model learns to write the tokens from `answer` on; what stands
// before is read only.
struct Example {
  std::vector<TokenId> tokens;
  size_t answer = 0;  // at least 1: a first token follows nothing

  size_t learned() const { return tokens.size() - answer; }
};

// Rows of at most `capacity` places that hold texts of these lengths, by number, each once: the
// longest first, each into the row it leaves the least room in (best-fit decreasing, Johnson 1973).
// None may be longer than a row. Deterministic.
std::vector<std::vector<size_t>> pack(const std::vector<size_t>& lengths, size_t capacity);

}  // namespace kw
