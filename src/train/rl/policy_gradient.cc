#include "train/rl/policy_gradient.h"

#include <algorithm>

#include "formats/base/error.h"
#include "train/step/sft_step.h"

namespace kw::train {
namespace {

std::vector<Example> texts_of(const std::vector<SampledGroup>& groups) {
  std::vector<Example> out;
  for (const SampledGroup& group : groups) {
    for (const Sampled& sampled : group) {
      const size_t length = sampled.text.learned();
      if (sampled.log_p.size() != length || sampled.is_plan.size() != length) {
        throw InputError("an answer of " + std::to_string(length) + " tokens with " +
                         std::to_string(sampled.log_p.size()) + " log-probabilities");
      }
      out.push_back(sampled.text);
    }
  }
  return out;
}

// Returns the objective's view of the groups. Log-probabilities are by text, in the groups' order.
std::vector<Group> rollouts(const std::vector<SampledGroup>& groups,
                            const std::vector<std::vector<double>>& log_p,
                            const std::vector<std::vector<double>>& reference_log_p) {
  std::vector<Group> out;
  size_t text = 0;
  for (const SampledGroup& group : groups) {
    Group& made = out.emplace_back();
    for (const Sampled& sampled : group) {
      Rollout& rollout = made.emplace_back();
      rollout.judged = sampled.judged;
      rollout.log_p = log_p[text];
      rollout.old_log_p.assign(sampled.log_p.begin(), sampled.log_p.end());
      if (!reference_log_p.empty()) rollout.reference_log_p = reference_log_p[text];
      rollout.is_plan = sampled.is_plan;
      ++text;
    }
  }
  return out;
}

double drift_of(const std::vector<Group>& groups) {
  double sum = 0, tokens = 0;
  for (const Group& group : groups) {
    for (const Rollout& rollout : group) {
      for (size_t t = 0; t < rollout.log_p.size(); ++t) {
        sum += rollout.old_log_p[t] - rollout.log_p[t];
      }
      tokens += static_cast<double>(rollout.log_p.size());
    }
  }
  return tokens > 0 ? sum / tokens : 0;
}

}  // namespace

std::vector<std::vector<double>> answer_log_p(const Transformer& model,
                                              const std::vector<Example>& texts,
                                              const UpdateOptions& options) {
  const at::NoGradGuard guard;
  std::vector<std::vector<double>> out(texts.size());
  for_each_part(
      texts, options.row, options.rows_at_once, model.device(), [&](const PackedBatch& batch) {
        const at::Tensor all =
            target_log_p(model, batch, options.temperature).to(at::kDouble).cpu().contiguous();
        const double* p = all.const_data_ptr<double>();
        for (const PlacedText& placed : batch.texts) {
          const double* first = p + placed.first;
          out[placed.text].assign(first, first + texts[placed.text].learned());
        }
      });
  return out;
}

UpdateReport update(const Transformer& model, const Transformer* reference,
                    ParameterOptimizer& optimizer, const std::vector<SampledGroup>& groups,
                    const Objective& objective, double rate, const UpdateOptions& options) {
  const std::vector<Example> texts = texts_of(groups);
  std::vector<std::vector<double>> reference_log_p;
  if (reference) reference_log_p = answer_log_p(*reference, texts, options);
  const std::vector<Group> seen =
      rollouts(groups, answer_log_p(model, texts, options), reference_log_p);
  const ObjectiveResult result = objective(seen);
  std::vector<const std::vector<double>*> weights;
  UpdateReport out{result.loss, result.kl, result.clipped, drift_of(seen)};
  for (const auto& group : result.weights) {
    for (const auto& answer : group) {
      weights.push_back(&answer);
      out.tokens += static_cast<int64_t>(answer.size());
    }
  }
  bool learned = false;
  for_each_part(texts, options.row, options.rows_at_once, model.device(),
                [&](const PackedBatch& batch) {
                  at::Tensor placed = at::zeros({batch.learned}, at::kFloat);
                  bool any = false;
                  for (const PlacedText& each : batch.texts) {
                    const auto& own = *weights[each.text];
                    float* to = placed.mutable_data_ptr<float>() + each.first;
                    std::ranges::transform(own, to, [](double w) { return static_cast<float>(w); });
                    any = any || std::ranges::any_of(own, [](double w) { return w != 0; });
                  }
                  if (!any) return;  // nothing to learn here
                  const at::Tensor log_p = target_log_p(model, batch, options.temperature);
                  (log_p * placed.to(log_p.device())).sum().backward();
                  optimizer.accumulate(model.parameters());
                  learned = true;
                });
  // If no answer teaches anything there is no step, as momentum alone would move the model.
  if (learned) out.norm = optimizer.step(rate);
  return out;
}

}  // namespace kw::train
