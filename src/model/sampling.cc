#include "model/sampling.h"

namespace kw {

float uniform_number(uint64_t seed, uint64_t index) {
  uint64_t z = seed + 0x9e3779b97f4a7c15 * (index + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-24f;
}

Drawn draw_tokens(const at::Tensor& logits, const at::Tensor& temperature, const at::Tensor& top_p,
                  const at::Tensor& uniform, bool truncated) {
  // Logits divided by less than this may overflow.
  const at::Tensor greedy = (temperature < 1e-4).unsqueeze(1);
  const at::Tensor divisor = temperature.unsqueeze(1).masked_fill(greedy, 1.0);
  const at::Tensor log_p = at::log_softmax(logits.to(at::kFloat) / divisor, 1);
  at::Tensor mass = log_p.exp();
  if (truncated) {
    const auto [sorted, order] = mass.sort(/*dim=*/1, /*descending=*/true);
    const at::Tensor before = sorted.cumsum(1) - sorted;
    // The first token stays for any top_p.
    const at::Tensor left_out = (before >= top_p.unsqueeze(1)).logical_and_(before > 0);
    // The order is that of the vocabulary, so that rows of top_p 1 draw as they would without this.
    mass = mass.masked_fill(at::empty_like(left_out).scatter_(1, order, left_out), 0.0);
  }
  const at::Tensor sums = mass.cumsum(1);
  const at::Tensor wanted = uniform.unsqueeze(1) * sums.slice(1, -1);
  // Rounding may put `wanted` at the very end, after the last token that has any mass.
  const at::Tensor last = (sums < sums.slice(1, -1)).sum(1, /*keepdim=*/true);
  at::Tensor tokens = (sums <= wanted).sum(1, /*keepdim=*/true).minimum(last);
  tokens = at::where(greedy, log_p.argmax(1, /*keepdim=*/true), tokens);
  return {tokens.squeeze(1), log_p.gather(1, tokens).squeeze(1)};
}

}  // namespace kw
