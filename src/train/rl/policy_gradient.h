// One update of reinforcement learning: answers that were sampled and judged, an objective that
// says how much each of their tokens is to become likelier (objectives.h), and one step of the
// optimizer. Borrows model, reference and optimizer. One thread.
#pragma once

#include <functional>
#include <vector>

#include "model/transformer.h"
#include "train/step/objectives.h"
#include "train/step/optimizer.h"
#include "train/step/packing.h"

namespace kw {

// An answer as it was sampled: `text.answer` is where it begins behind its prompt.
struct Sampled {
  Example text;
  std::vector<float> log_p;   // of the answer's tokens, under the model that sampled them
  std::vector<bool> is_plan;  // likewise
  Judged judged;
};
using SampledGroup = std::vector<Sampled>;  // answers to one prompt

using Objective = std::function<ObjectiveResult(const std::vector<Group>&)>;

struct UpdateOptions {
  size_t row = 4096;        // places of a row that texts are packed into
  size_t rows_at_once = 8;  // rows of a part, one part after another in memory
  double temperature = 1;   // that answers were sampled at; log-probabilities are those at it
};

struct UpdateReport {
  double loss = 0, kl = 0, clipped = 0;  // ObjectiveResult's
  // How far the model has gone from the one that wrote the answers: the mean over their tokens of
  // log p_old - log p, in nats, an estimate of KL(old, now). Near 0 in the first update of a batch.
  double drift = 0;
  double norm = 0;     // of all gradients, before they were cut down
  int64_t tokens = 0;  // of the answers
};

// Log-probabilities of each answer's tokens under a model, by text.
std::vector<std::vector<double>> answer_log_p(const Transformer& model,
                                              const std::vector<Example>& texts,
                                              const UpdateOptions& options);

// `reference` holds the model back where the objective wants one; else null.
UpdateReport update(const Transformer& model, const Transformer* reference,
                    ParameterOptimizer& optimizer, const std::vector<SampledGroup>& groups,
                    const Objective& objective, double rate, const UpdateOptions& options);

}  // namespace kw
