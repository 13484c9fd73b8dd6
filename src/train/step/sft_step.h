// One step of supervised fine-tuning: the mean over all answers' tokens of their negative
// log-probability (cross-entropy), by parts that fit memory, each of rows that hold several texts.
// Borrows model and optimizer. One thread.
#pragma once

#include <functional>
#include <vector>

#include "model/transformer.h"
#include "train/step/optimizer.h"
#include "train/step/packing.h"
#include "train/step/replicas.h"

namespace kw {

struct SftReport {
  double loss = 0;      // mean negative log-probability of a token of the answers, in nats
  double norm = 0;      // of all gradients, before they were cut down
  int64_t tokens = 0;   // that were read
  int64_t learned = 0;  // of these, that count in the loss
  double filled = 0;    // share of the rows' places that texts took
};

struct PlacedText {
  size_t text = 0;   // its number
  size_t first = 0;  // its answer's first token, counted through all learned ones
};

// Texts in rows of one length, as a model takes them. Tokens that are learned are those of answers,
// text by text.
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
// time. InputError for a text without a prompt or an answer.
void for_each_part(const std::vector<Example>& texts, size_t row, size_t rows_at_once,
                   at::Device device, const std::function<void(const PackedBatch&)>& part);

// Log-probabilities at this temperature that the model gives each learned token: [learned],
// float32.
at::Tensor target_log_p(const Transformer& model, const PackedBatch& batch, double temperature = 1);

// Learns from the examples once. `row` places a row, `rows_at_once` rows in a part at most; as many
// parts at the same time as there are models. `optimizer` is that of the first.
SftReport sft_step(Replicas& models, ParameterOptimizer& optimizer,
                   const std::vector<Example>& examples, size_t row, size_t rows_at_once,
                   double rate);
// The loss alone.
double sft_loss(const Transformer& model, const std::vector<Example>& examples, size_t row,
                size_t rows_at_once);

}  // namespace kw
