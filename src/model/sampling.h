// How the next token is drawn from logits, on whatever device they are, and numbers to draw it by.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace kw {

// The `index`th number in [0, 1) of a seed's sequence: the same on every machine and in every batch
// (splitmix64, Steele, Lea and Flood, OOPSLA 2014; the upper 24 bits, which a float32 holds).
float uniform_number(uint64_t seed, uint64_t index);

struct Drawn {
  at::Tensor tokens;  // [B], int64
  at::Tensor log_p;   // [B], float32: log-probability at the row's temperature, nothing left out
};

// From `logits` [B, V]: softmax of logits / temperature; of its most probable tokens those that
// begin below `top_p` of the mass (Holtzman et al., arXiv:1904.09751); of these the one where the
// cumulative sum passes `uniform` times their mass. A temperature below 1e-4 takes the most
// probable token, and its log-probability is that at 1. All of [B], float32. Without `truncated`
// top_p is not looked at, which saves sorting.
Drawn draw_tokens(const at::Tensor& logits, const at::Tensor& temperature, const at::Tensor& top_p,
                  const at::Tensor& uniform, bool truncated);

}  // namespace kw
