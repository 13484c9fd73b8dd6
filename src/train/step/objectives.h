// What reinforcement learning minimises, as pure functions of a group's rollouts without tensors.
// An objective gives a loss and, for every token, the loss's derivative by the token's
// log-probability under the model in training. A trainer multiplies these weights by the
// log-probabilities and propagates back. Each objective states its formula and source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kw::train {

// The verifier's findings about an answer.
struct Judged {
  bool valid = false;    // Triton that compiles, and does the work in its own kernels
  bool correct = false;  // right on all trials; not without `valid`
  double speedup = 0;    // t_ref / t_cand, the lower end of its interval; 0: not timed
};

struct Rollout {
  Judged judged;
  // For each token of the answer, its log-probability under the model in training, under the model
  // that sampled it, and under the reference; the last is empty without a reference.
  std::vector<double> log_p, old_log_p, reference_log_p;
  std::vector<bool> is_plan;  // the token belongs to the plan, not to the code
};

// Answers to one prompt.
using Group = std::vector<Rollout>;

struct ObjectiveResult {
  double loss = 0;
  std::vector<std::vector<std::vector<double>>> weights;  // by group, rollout, token
  double kl = 0;       // mean over tokens of the objective's estimate
  double clipped = 0;  // share of tokens whose ratio is clipped
};

// AutoTriton (arXiv:2507.05687): "1 if the kernel is Triton and passes the tests, else 0".
double reward_correct(const Judged& judged);
// TritonRL (arXiv:2510.17891): valid * min(correct * t_ref / t_cand, most), most = 2 there.
double reward_speed(const Judged& judged, double most = 2);
// DRTriton's comparator: 1 + log(t_ref / t_cand) for a valid right answer, else 0.
double reward_log_speed(const Judged& judged);

enum class Advantage {
  kStandardised,  // (r - mean) / standard deviation of the group; 0 if all are equal
  kCentred,       // r - mean
  kLeaveOneOut,   // r - mean of the others (RLOO, Ahmadian et al., arXiv:2402.14740)
};
std::vector<double> advantages(const std::vector<double>& rewards, Advantage kind);

struct ClippedOptions {
  Advantage advantage = Advantage::kStandardised;
  double clip_low = 0.2, clip_high = 0.2;  // ratios stay in [1 - low, 1 + high]
  double kl_weight = 0;                    // of the KL to the reference
};

// Computes GRPO (Shao et al., arXiv:2402.03300, equation 3). A token's term is
//   min(ratio A, clip(ratio) A) - weight * (q/p - log(q/p) - 1),
// with ratio = p / p_old and q the reference's probability. J is the mean over answers of the mean
// over their tokens. The loss is -J in the mean over groups. `rewards` is by group and rollout.
ObjectiveResult clipped_objective(const std::vector<Group>& groups,
                                  const std::vector<std::vector<double>>& rewards,
                                  const ClippedOptions& options);

// Computes TritonRL's hierarchical objective: plan_weight * J_plan + J_code. Each part is the
// objective above over the plan's or the code's tokens, with rewards of speed for plans and
// correctness for code.
ObjectiveResult hierarchical_objective(const std::vector<Group>& groups,
                                       const std::vector<std::vector<double>>& plan_rewards,
                                       const std::vector<std::vector<double>>& code_rewards,
                                       double plan_weight, const ClippedOptions& options);

struct DrpoOptions {
  double penalty = 100, temperature = 5, sharpness = 0.1, allowed_kl = 0.001;
  bool learn_from_all_right = false;  // false: such groups give nothing, as published
};

// Computes DRPO (Li et al., arXiv:2510.04474, with DRTriton's rewards). S+ are the right answers of
// a group and S- the others; s is the mean log-probability of an answer's tokens. The loss is
//   L = -sum over S+ of omega s + temperature * log(mean over S- of exp(s / temperature)),
// with omega = softmax over S+ of log(t_ref / t_cand) / sharpness. Groups of one kind give 0 and
// count in the mean over groups. The penalty's gradient is `penalty` * max(KL - allowed, 0) * grad
// KL, with KL the mean over all tokens of log p_old - log p.
ObjectiveResult drpo_objective(const std::vector<Group>& groups, const DrpoOptions& options);

}  // namespace kw::train
