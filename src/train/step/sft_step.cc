#include "train/step/sft_step.h"

#include <algorithm>
#include <numeric>

#include "formats/base/error.h"

namespace kw::train {
namespace {

using Rows = std::vector<std::vector<size_t>>;

Rows packed(const std::vector<Example>& examples, size_t row) {
  std::vector<size_t> lengths;
  for (const Example& example : examples) {
    if (example.answer == 0 || example.answer >= example.tokens.size()) {
      throw InputError("an example without a prompt or without an answer");
    }
    lengths.push_back(example.tokens.size());
  }
  return pack(lengths, row);
}

double learned_tokens(const std::vector<Example>& examples) {
  double out = 0;
  for (const Example& example : examples) out += static_cast<double>(example.learned());
  return out;
}

// Splits rows into parts of at most `rows_at_once` rows. Their number is a multiple of `at_once` if
// there are so many rows, and no part is more than one row larger than another.
std::vector<Rows> divided(const Rows& rows, size_t rows_at_once, size_t at_once) {
  const size_t rounds = (rows.size() + rows_at_once * at_once - 1) / (rows_at_once * at_once);
  const size_t parts = std::min(rows.size(), rounds * at_once);
  std::vector<Rows> out(parts);
  for (size_t i = 0; i < rows.size(); ++i) out[i * parts / rows.size()].push_back(rows[i]);
  return out;
}

}  // namespace

PackedBatch make_batch(const std::vector<Example>& examples, const Rows& rows, at::Device device) {
  size_t length = 0;
  for (const auto& row : rows) {
    size_t used = 0;
    for (const size_t i : row) used += examples[i].tokens.size();
    length = std::max(length, used);
  }
  const auto shape = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)};
  PackedBatch out;
  out.ids = at::zeros(shape, at::kLong);
  out.positions = at::zeros(shape, at::kLong);
  std::vector<int64_t> predicting_positions, targets;
  std::vector<int32_t> starts;
  for (size_t r = 0; r < rows.size(); ++r) {
    size_t at = r * length;
    for (const size_t i : rows[r]) {
      const Example& example = examples[i];
      out.texts.push_back({i, targets.size()});
      starts.push_back(static_cast<int32_t>(at));
      for (size_t k = 0; k < example.tokens.size(); ++k, ++at) {
        out.ids.mutable_data_ptr<int64_t>()[at] = example.tokens[k];
        out.positions.mutable_data_ptr<int64_t>()[at] = static_cast<int64_t>(k);
        if (k < example.answer) continue;
        predicting_positions.push_back(static_cast<int64_t>(at) - 1);
        targets.push_back(example.tokens[k]);
      }
      out.tokens += static_cast<int64_t>(example.tokens.size());
    }
    if (at < (r + 1) * length) starts.push_back(static_cast<int32_t>(at));  // padding
  }
  starts.push_back(static_cast<int32_t>(rows.size() * length));
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    out.sequences.longest = std::max<int64_t>(out.sequences.longest, starts[i + 1] - starts[i]);
  }
  out.learned = static_cast<int64_t>(targets.size());
  out.sequences.starts = at::tensor(starts, at::kInt);
  out.predicting_positions = at::tensor(predicting_positions, at::kLong);
  out.targets = at::tensor(targets, at::kLong);
  for (at::Tensor* t :
       {&out.ids, &out.positions, &out.sequences.starts, &out.predicting_positions, &out.targets}) {
    *t = t->to(device);
  }
  return out;
}

void for_each_part(const std::vector<Example>& texts, size_t row, size_t rows_at_once,
                   at::Device device, const std::function<void(const PackedBatch&)>& part) {
  const Rows rows = packed(texts, row);
  for (size_t from = 0; from < rows.size(); from += rows_at_once) {
    const size_t to = std::min(from + rows_at_once, rows.size());
    part(make_batch(texts,
                    Rows(rows.begin() + static_cast<ptrdiff_t>(from),
                         rows.begin() + static_cast<ptrdiff_t>(to)),
                    device));
  }
}

at::Tensor target_log_p(const Transformer& model, const PackedBatch& batch, double temperature) {
  const at::Tensor hidden = model.hidden(batch.ids, batch.positions, batch.sequences);
  const at::Tensor predicting = hidden.flatten(0, 1).index_select(0, batch.predicting_positions);
  at::Tensor logits = model.logits(predicting).to(at::kFloat);
  if (temperature != 1) logits = logits / temperature;
  return at::log_softmax(logits, -1).gather(-1, batch.targets.unsqueeze(-1)).squeeze(-1);
}

SftReport sft_step(Replicas& models, ParameterOptimizer& optimizer,
                   const std::vector<Example>& examples, size_t row, size_t rows_at_once,
                   double rate) {
  const double all = learned_tokens(examples);
  const std::vector<Rows> parts = divided(packed(examples, row), rows_at_once, models.size());
  std::vector<at::Tensor> losses(models.size());  // sums so far, each on its own device
  std::vector<SftReport> reports(models.size());
  std::vector<int64_t> places(models.size());
  for (size_t from = 0; from < parts.size(); from += models.size()) {
    const auto learn = [&](const Transformer& model, size_t i) {
      const PackedBatch batch = make_batch(examples, parts[from + i], model.device());
      const at::Tensor loss = -target_log_p(model, batch).sum() / all;
      loss.backward();
      losses[i] = losses[i].defined() ? losses[i] + loss.detach() : loss.detach();
      reports[i].tokens += batch.tokens;
      reports[i].learned += batch.learned;
      places[i] += batch.ids.numel();
    };
    models.each(std::min(models.size(), parts.size() - from), learn);
    optimizer.accumulate(models.first().parameters());
    for (const auto& copy : models.copies()) optimizer.accumulate(copy->parameters());
  }
  SftReport out;
  out.norm = optimizer.step(rate);
  models.follow();
  for (const at::Tensor& loss : losses) out.loss += loss.defined() ? loss.item<double>() : 0;
  for (const SftReport& report : reports) {
    out.tokens += report.tokens;
    out.learned += report.learned;
  }
  const int64_t all_places = std::accumulate(places.begin(), places.end(), int64_t{0});
  out.filled = all_places ? static_cast<double>(out.tokens) / static_cast<double>(all_places) : 0;
  return out;
}

double sft_loss(const Transformer& model, const std::vector<Example>& examples, size_t row,
                size_t rows_at_once) {
  const at::NoGradGuard guard;
  double sum = 0;
  for_each_part(examples, row, rows_at_once, model.device(), [&](const PackedBatch& batch) {
    sum -= target_log_p(model, batch).sum().item<double>();
  });
  return sum / std::max(1.0, learned_tokens(examples));
}

}  // namespace kw::train
