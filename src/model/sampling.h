// Draws the next token from logits, on their device.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace kw {

// Returns the `index`th number in [0, 1) of a seed's sequence, which is the same on every machine
// and in every batch. It is made of the upper 24 bits, which a float32 holds, of splitmix64
// (Steele, Lea and Flood, OOPSLA 2014).
float uniform_number(uint64_t seed, uint64_t index);

struct Drawn {
  at::Tensor tokens;  // [B], int64
  at::Tensor log_p;   // [B], float32: log-probability at the row's temperature, without top_p
};

// Draws a token from each row of `logits` [B, V]. The probabilities are the softmax of logits /
// temperature. Of the most probable tokens, those stay that begin below `top_p` of the mass
// (Holtzman et al., arXiv:1904.09751). The token is the one where their cumulative sum passes
// `uniform` times their mass. A temperature below 1e-4 takes the most probable token, whose
// log-probability is then that at temperature 1. The other arguments are [B], float32. Without
// `truncated`, top_p is ignored, which saves sorting.
Drawn draw_tokens(const at::Tensor& logits, const at::Tensor& temperature, const at::Tensor& top_p,
                  const at::Tensor& uniform, bool truncated);

}  // namespace kw
