// What reinforcement learning minimises, as pure functions of a group's rollouts: no tensors. An
// objective gives a loss and, for every token, the loss's derivative by the token's log-probability
// under the model that is trained: a trainer multiplies these weights with log-probabilities and
// goes backward. Formulas, with their sources, stand at each objective.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kw {

// What the verifier found of an answer.
struct Judged {
  bool valid = false;    // Triton that compiles, and does the work itself
  bool correct = false;  // right on all trials; not without `valid`
  double speedup = 0;    // t_ref / t_cand, the lower end of its interval; 0: not timed
};

struct Rollout {
  Judged judged;
  // Of each token of the answer: log-probabilities under the model that is trained, under the one
  // that sampled it, and, where a reference holds the model back, under that.
  std::vector<double> log_p, old_log_p, reference_log_p;
  std::vector<bool> is_plan;  // the token belongs to the plan, not to the code
};

// Answers to one prompt.
using Group = std::vector<Rollout>;

struct ObjectiveResult {
  double loss = 0;
  std::vector<std::vector<std::vector<double>>> weights;  // by group, rollout, token
  double kl = 0;       // mean over tokens: of the estimate that the objective uses
  double clipped = 0;  // share of tokens whose ratio is cut off
};

// AutoTriton (arXiv:2507.05687): "1 if the kernel is Triton and passes the tests, else 0".
double reward_correct(const Judged& judged);
// TritonRL (arXiv:2510.17891): valid * min(correct * t_ref / t_cand, most), most = 2 there.
double reward_speed(const Judged& judged, double most = 2);
// DRTriton's comparator: 1 + log(t_ref / t_cand) of valid right ones, else 0.
double reward_log_speed(const Judged& judged);

enum class Advantage {
  kStandardised,  // (r - mean) / standard deviation of the group; 0 where all are equal
  kCentred,       // r - mean
  kLeaveOneOut,   // r - mean of the others (RLOO, Ahmadian et al., arXiv:2402.14740)
};
std::vector<double> advantages(const std::vector<double>& rewards, Advantage kind);

struct ClippedOptions {
  Advantage advantage = Advantage::kStandardised;
  double clip_low = 0.2, clip_high = 0.2;  // ratios stay in [1 - low, 1 + high]
  double kl_weight = 0;                    // of the reference
};

// GRPO (Shao et al., arXiv:2402.03300, equation 3): mean over answers of the mean over their tokens
// of min(ratio A, clip(ratio) A) - weight * (q/p - log(q/p) - 1), ratio = p / p_old, q the
// reference's; the loss is minus that, in the mean over groups. `rewards` by group and rollout.
ObjectiveResult clipped_objective(const std::vector<Group>& groups,
                                  const std::vector<std::vector<double>>& rewards,
                                  const ClippedOptions& options);

// TritonRL's hierarchical one: plan_weight * J_plan + J_code, where each is the above over its own
// tokens with its own rewards, speed for plans and correctness for code.
ObjectiveResult hierarchical_objective(const std::vector<Group>& groups,
                                       const std::vector<std::vector<double>>& plan_rewards,
                                       const std::vector<std::vector<double>>& code_rewards,
                                       double plan_weight, const ClippedOptions& options);

struct DrpoOptions {
  double penalty = 100, temperature = 5, sharpness = 0.1, allowed_kl = 0.001;
  bool learn_from_all_right = false;  // false: as published, such groups give nothing
};

// DRPO (Li et al., arXiv:2510.04474, with DRTriton's rewards): with s the mean log-probability of
// an answer's tokens, S+ the right and S- the other answers,
//   L = -sum over S+ of omega s + temperature * log(mean over S- of exp(s / temperature)),
// omega = softmax over S+ of log(t_ref / t_cand) / sharpness. Groups of one kind give 0 and count
// in the mean over groups. The penalty's gradient is `penalty` * max(KL - allowed, 0) * grad KL,
// with KL the mean over all tokens of log p_old - log p.
ObjectiveResult drpo_objective(const std::vector<Group>& groups, const DrpoOptions& options);

}  // namespace kw
