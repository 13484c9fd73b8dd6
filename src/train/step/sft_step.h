// One step of supervised fine-tuning. The loss is the mean negative log-probability of all answers'
// tokens (cross-entropy). A step works on parts that fit memory; each row of a part holds several
// texts.
// Borrows model and optimizer. One thread.
#pragma once

#include <functional>
#include <vector>

#include "model/transformer.h"
#include "train/step/optimizer.h"
#include "train/step/packing.h"
#include "train/step/replicas.h"

namespace kw::train {

struct SftReport {
  double loss = 0;      // mean negative log-probability of a token of the answers, in nats
  double norm = 0;      // of all gradients, before clipping
  int64_t tokens = 0;   // tokens that were read
  int64_t learned = 0;  // those of them that count in the loss
  double filled = 0;    // the share of the rows' places that texts take
};

struct PlacedText {
  size_t text = 0;   // its number
  size_t first = 0;  // index of its answer's first token among all learned tokens
};

// Texts in rows of one length, as a model takes them. The learned tokens are those of the answers,
// in the order of the texts.
struct PackedBatch {
  std::vector<PlacedText> texts;
  at::Tensor ids, positions;  // [rows, length]
  PackedSequences sequences;  // the texts in these rows
  // [learned]: flat index (row * length + column) of the token before each target.
  at::Tensor predicting_positions;
  at::Tensor targets;  // [learned]: target token ids
  int64_t learned = 0, tokens = 0;
};
PackedBatch make_batch(const std::vector<Example>& examples,
                       const std::vector<std::vector<size_t>>& rows, at::Device device);

// Packs texts into rows of at most `row` places, and calls `part` for `rows_at_once` rows at a
// time. Throws InputError for a text without a prompt or an answer.
void for_each_part(const std::vector<Example>& texts, size_t row, size_t rows_at_once,
                   at::Device device, const std::function<void(const PackedBatch&)>& part);

// Returns the model's log-probability of each learned token at this temperature: [learned],
// float32.
at::Tensor target_log_p(const Transformer& model, const PackedBatch& batch, double temperature = 1);

// Makes one step on the examples. A row has `row` places and a part at most `rows_at_once` rows;
// each model works on one part at a time. `optimizer` belongs to the first model.
SftReport sft_step(Replicas& models, ParameterOptimizer& optimizer,
                   const std::vector<Example>& examples, size_t row, size_t rows_at_once,
                   double rate);
// Returns the loss without a step.
double sft_loss(const Transformer& model, const std::vector<Example>& examples, size_t row,
                size_t rows_at_once);

}  // namespace kw::train
