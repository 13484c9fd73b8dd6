// One update of reinforcement learning. An objective (objectives.h) says how much likelier each
// token of the sampled and judged answers should become, and the optimizer makes one step. Borrows
// model, reference and optimizer. One thread.
#pragma once

#include <functional>
#include <vector>

#include "model/transformer.h"
#include "train/step/objectives.h"
#include "train/step/optimizer.h"
#include "train/step/packing.h"

namespace kw::train {

// An answer as it was sampled. `text.answer` is the index of its first token, after the prompt.
struct Sampled {
  Example text;
  std::vector<float> log_p;   // by token of the answer, under the model that sampled it
  std::vector<bool> is_plan;  // by token of the answer
  Judged judged;
};
using SampledGroup = std::vector<Sampled>;  // answers to one prompt

using Objective = std::function<ObjectiveResult(const std::vector<Group>&)>;

struct UpdateOptions {
  size_t row = 4096;        // places of a row that texts are packed into
  size_t rows_at_once = 8;  // rows of a part; one part at a time is in memory
  double temperature = 1;   // of the sampling, and of all log-probabilities
};

struct UpdateReport {
  double loss = 0, kl = 0, clipped = 0;  // ObjectiveResult's
  // The distance from the model that wrote the answers: the mean over their tokens of
  // log p_old - log p, in nats, which estimates KL(old, now). Near 0 in a batch's first update.
  double drift = 0;
  double norm = 0;     // of all gradients, before clipping
  int64_t tokens = 0;  // of the answers
};

// Returns the log-probabilities of each answer's tokens under a model, by text.
std::vector<std::vector<double>> answer_log_p(const Transformer& model,
                                              const std::vector<Example>& texts,
                                              const UpdateOptions& options);

// Makes one update. `reference` is the model that the KL is counted from, or null without one.
UpdateReport update(const Transformer& model, const Transformer* reference,
                    ParameterOptimizer& optimizer, const std::vector<SampledGroup>& groups,
                    const Objective& objective, double rate, const UpdateOptions& options);

}  // namespace kw::train
