#include "train/rl/rl_batch_maker.h"

#include <map>

#include "formats/base/timed.h"
#include "synth/skeleton/random.h"
#include "train/step/streams.h"

namespace kw::train {
namespace {

constexpr int64_t kHeldOutStep = -1;  // gives the seeds of answers to held-out tasks

}  // namespace

RlBatchMaker::RlBatchMaker(const RlConfig& config, Parts parts, int64_t step, uint64_t place)
    : config_(config), parts_(std::move(parts)), sampled_(step), drawn_to_(place) {}

std::optional<RlBatch> RlBatchMaker::next(const std::vector<double>& weights,
                                          PhaseSeconds& phases) {
  if (!config_.overlap) {
    auto batch = sample(weights, phases);
    if (!batch) return {};
    const Timed timed(phases["judge"]);
    parts_.show("judging");
    batch->report = judged(*batch);
    return batch;
  }
  if (!judging_.valid()) {  // the first batch
    auto batch = sample(weights, phases);
    if (!batch) return {};
    begin_judging(std::move(*batch));
  }
  std::optional<RlBatch> ahead;
  if (sampled_ < config_.steps) {
    ahead = sample(weights, phases);
    if (!ahead) return {};
  }
  const Timed timed(phases["judge"]);
  parts_.show("judging");
  RlBatch out = judging_.get();
  if (ahead) begin_judging(std::move(*ahead));
  return out;
}

std::optional<RlBatch> RlBatchMaker::ask(const std::vector<RlTask>& tasks) {
  RlBatch out;
  out.step = kHeldOutStep;
  out.tasks = tasks;
  out.answers = 1;
  if (!generate(out, "held-out tasks")) return {};
  if (judging_.valid()) judging_.wait();  // one caller at a time
  parts_.show("judging held-out tasks");
  out.report = judged(out);
  return out;
}

JudgeReport RlBatchMaker::judged(const RlBatch& batch) const {
  const uint64_t seed =
      Random(static_cast<uint64_t>(config_.seed), static_cast<uint64_t>(batch.step), kTrialStream)
          .bits();
  return parts_.judge.judge(answers_of(batch), seed);
}

void RlBatchMaker::begin_judging(RlBatch batch) {
  judging_ = std::async(std::launch::async, [this, own = std::move(batch)]() mutable {
    own.report = judged(own);
    return std::move(own);
  });
}

std::future<RlTaskSource::Found> RlBatchMaker::begin_drawing(const std::vector<double>& weights) {
  return parts_.tasks.begin(static_cast<size_t>(config_.prompts), drawn_to_, weights);
}

// Returns the next tasks. With overlap it also begins to draw the tasks that follow.
RlTaskSource::Found RlBatchMaker::next_tasks(const std::vector<double>& weights) {
  parts_.show("drawing tasks");
  if (!drawing_.valid()) drawing_ = begin_drawing(weights);
  RlTaskSource::Found out = drawing_.get();
  drawn_to_ = out.place;
  if (config_.overlap && sampled_ + 1 < config_.steps) drawing_ = begin_drawing(weights);
  return out;
}

std::optional<RlBatch> RlBatchMaker::sample(const std::vector<double>& weights,
                                            PhaseSeconds& phases) {
  RlBatch out;
  {
    const Timed timed(phases["draw"]);
    RlTaskSource::Found found = next_tasks(weights);
    out.place = found.place;
    out.tasks = std::move(found.tasks);
    out.looked_at = found.counts;
  }
  if (parts_.stop) return {};
  out.step = sampled_++;
  out.answers = static_cast<size_t>(config_.answers);
  const Timed timed(phases["generate"]);
  if (!generate(out, "writing")) return {};
  return out;
}

// Samples answers to the batch's tasks; returns false if the run is to stop.
bool RlBatchMaker::generate(RlBatch& batch, const std::string& what) {
  const SamplingOptions options{static_cast<int64_t>(batch.answers), config_.max_tokens,
                                config_.temperature};
  const auto requests =
      requests_of(batch.tasks, options, static_cast<uint64_t>(config_.seed), batch.step);
  batch.made.resize(requests.size());
  std::map<size_t, size_t> places;
  for (size_t i = 0; i < requests.size(); ++i) places[parts_.generator.submit(requests[i])] = i;
  size_t done = 0;
  while (!parts_.generator.idle()) {
    if (parts_.stop) return false;
    for (auto& [number, made] : parts_.generator.advance()) {
      batch.made[places.at(number)] = std::move(made);
      ++done;
    }
    parts_.show(what + ": " + std::to_string(done) + " of " + std::to_string(requests.size()) +
                " answers");
  }
  return true;
}

}  // namespace kw::train
