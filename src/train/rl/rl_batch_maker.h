// Makes the batches of a run: draws tasks, samples answers and has them judged. With overlap the
// next batch is drawn and sampled while one is judged.
//
// Borrows everything. Only the calling thread uses the model. With overlap another thread waits for
// the judge; the destructor waits for that thread.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "train/rl/rl_batch.h"
#include "train/rl/rl_config.h"
#include "train/rl/rl_report.h"

namespace kw::train {

class RlBatchMaker {
 public:
  struct Parts {
    Generator& generator;
    RlTaskSource& tasks;
    Judge& judge;
    const std::atomic<bool>& stop;
    std::function<void(const std::string&)> show;  // shows what is done now
  };
  // Begins with the batch for `step`, of tasks from `place` on.
  RlBatchMaker(const RlConfig& config, Parts parts, int64_t step, uint64_t place);

  // Returns the next batch, sampled and judged, or nothing if the run is to stop. The levels'
  // `weights` are for the batch that is drawn next. Adds the time of each phase to `phases`.
  std::optional<RlBatch> next(const std::vector<double>& weights, PhaseSeconds& phases);
  // One answer to each of these held-out tasks, by the same numbers each time; judged.
  std::optional<RlBatch> ask(const std::vector<RlTask>& tasks);

 private:
  std::future<RlTaskSource::Found> begin_drawing(const std::vector<double>& weights);
  RlTaskSource::Found next_tasks(const std::vector<double>& weights);
  std::optional<RlBatch> sample(const std::vector<double>& weights, PhaseSeconds& phases);
  bool generate(RlBatch& batch, const std::string& what);
  JudgeReport judged(const RlBatch& batch) const;
  void begin_judging(RlBatch batch);

  const RlConfig& config_;
  const Parts parts_;
  int64_t sampled_;    // batches
  uint64_t drawn_to_;  // place of the next task
  std::future<RlTaskSource::Found> drawing_;
  std::future<RlBatch> judging_;  // last, so that its thread ends before what it uses
};

}  // namespace kw::train
