#include "train/rl/rl_run.h"

#include <algorithm>
#include <chrono>

#include "formats/base/error.h"
#include "formats/base/timed.h"
#include "train/rl/rl_batch_maker.h"
#include "train/rl/rl_report.h"
#include "train/run/run_folder.h"
#include "train/run/run_start.h"
#include "train/run/train_log.h"
#include "train/step/broken_steps.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kShownRewards = 60;

RlTaskOptions task_options(const RlConfig& config, int64_t programs) {
  return {.longest_prompt = static_cast<size_t>(config.longest_prompt),
          .programs = static_cast<uint64_t>(programs)};
}

GeneratorOptions generator_options(const RlConfig& config, const Transformer& model) {
  const int64_t needed = config.longest_prompt + config.max_tokens;
  if (needed > model.config().context) {
    throw InputError("data.longest_prompt and rl.max_tokens are " + std::to_string(needed) +
                     " together; the model has " + std::to_string(model.config().context) +
                     " positions");
  }
  return {.rows = config.rows, .context = needed};
}

StartOptions start_options(const RlConfig& config) {
  return {.adam = {.beta2 = config.beta2, .decay = config.decay, .clip = config.clip_norm},
          .has_reference = has_reference(config)};
}

class RlRun {
 public:
  RlRun(const RlConfig& config, const Settings& settings, const fs::path& run,
        const std::atomic<bool>& stop, const RunProgress& progress, const RlCrew& crew)
      : config_(config),
        stop_(stop),
        progress_(progress),
        judge_(crew.judge),
        folder_(run, settings, fingerprint_of_start(config, has_reference(config))),
        from_(folder_.from()),
        start_(load_start(config, start_options(config), from_)),
        generator_(start_.model, start_.tokenizer, generator_options(config, start_.model)),
        profile_(device_profile(config.target)),
        tasks_(task_programs(config, Split::kTrain), task_options(config, config.tasks),
               start_.format, crew.drawing, crew.pool, profile_, crew.is_fair, stop),
        held_out_source_(task_programs(config, Split::kValidation), task_options(config, 0),
                         start_.format, crew.drawing, crew.pool, profile_, crew.is_fair, stop),
        curriculum_(curriculum_options(config)),
        objective_(make_objective(config.objective)) {}

  // Runs from the last checkpoint to the end.
  RlEnd go() {
    restore();
    try {
      evaluate_if_due();
      while (step_ < config_.steps && !curriculum_.ended() && !stop_) {
        step_start_ = Clock::now();
        phases_.clear();
        const auto batch = batch_maker_->next(curriculum_.weights(), phases_);
        if (!batch) break;  // stopped
        learn(*batch);
        if (broken_.now()) continue;
        evaluate_if_due();
        if (step_ % config_.checkpoint_every == 0 || step_ == config_.steps) keep();
      }
    } catch (const EnvironmentError&) {  // what was learned so far is not lost with the machine
      if (!is_kept_ && !broken_.now()) keep();
      throw;
    }
    if (!is_kept_) keep();
    return {step_, step_ >= config_.steps || curriculum_.ended()};
  }

 private:
  void restore() {
    if (from_) {
      step_ = from_->step;
      place_ = from_->state.at("place").get<uint64_t>();
      evaluated_ = from_->state.at("evaluated").get<int64_t>();
      curriculum_.restore(from_->state.at("curriculum"));
      progress_.line(folder_.goes_on_line());
    }
    batch_maker_.emplace(config_,
                         RlBatchMaker::Parts{generator_, tasks_, judge_, stop_,
                                             [this](const std::string& now) { show(now); }},
                         step_, place_);
    log_.emplace(folder_.path(), from_ ? step_ + 1 : 0);
  }

  // Writes a checkpoint.
  void keep() {
    folder_.keep(
        step_, start_.model, start_.tokenizer_json, *start_.optimizer,
        {{"place", place_}, {"evaluated", evaluated_}, {"curriculum", curriculum_.state()}});
    is_kept_ = true;
  }

  // Shows the state of the run: the last step, rewards so far, and what is done now.
  void show(const std::string& now) const {
    if (!progress_.live) return;
    progress_.live({last_line_,
                    "rewards " + sparkline(rewards_, kShownRewards) + "  level " +
                        std::to_string(curriculum_.level()) + "  " + last_held_out_,
                    now});
  }

  // ---- Learning

  // Updates the model by a batch, and reports the step.
  void learn(const RlBatch& batch) {
    is_kept_ = false;
    StepReport report;
    report.level = curriculum_.level();
    {
      const Timed timed(phases_["update"]);
      show("learning");
      report.learned = update_all(groups_of(batch, start_.format));
    }
    ++step_;
    place_ = batch.place;
    report.step = step_;
    report.steps = config_.steps;
    report.seconds = seconds_since(step_start_);
    report.phases = phases_;
    report.judge = batch.report.times;
    const BatchSummary summary = summarise(batch, config_.objective);
    log_->write(step_, "rl", step_numbers(report, summary, batch.looked_at));
    rewards_.push_back(summary.reward);
    last_line_ = step_line(report, summary);
    progress_.line(last_line_);
    broken_.take(report.learned.norm, step_ == config_.steps, "rl.rate");
  }

  // Updates the model by all groups, `epochs` times, `prompts_per_update` groups at a time.
  LearnReport update_all(const std::vector<SampledGroup>& groups) {
    LearnReport out;
    out.rate =
        Schedule{config_.rate, config_.rate * config_.last_share, config_.warmup, config_.steps}.at(
            step_);
    const auto each = static_cast<size_t>(
        config_.prompts_per_update > 0 ? config_.prompts_per_update : config_.prompts);
    for (int64_t epoch = 0; epoch < config_.epochs; ++epoch) {
      for (size_t first = 0; first < groups.size(); first += each) {
        const auto begin = groups.begin() + static_cast<long>(first);
        const auto end = groups.begin() + static_cast<long>(std::min(first + each, groups.size()));
        add(update_one({begin, end}, out.rate), out);
      }
    }
    const auto count = static_cast<double>(std::max<int64_t>(1, out.updates));
    for (double* mean : {&out.loss, &out.kl, &out.clipped, &out.drift, &out.norm}) *mean /= count;
    return out;
  }

  UpdateReport update_one(const std::vector<SampledGroup>& groups, double rate) {
    return update(start_.model, start_.reference ? &*start_.reference : nullptr, *start_.optimizer,
                  groups, objective_, rate,
                  {.row = static_cast<size_t>(config_.row),
                   .rows_at_once = static_cast<size_t>(config_.rows_at_once),
                   .temperature = config_.temperature});
  }

  static void add(const UpdateReport& one, LearnReport& out) {
    out.loss += one.loss;
    out.kl += one.kl;
    out.clipped += one.clipped;
    out.drift += one.drift;
    out.norm += one.norm;
    out.tokens += one.tokens;
    ++out.updates;
  }

  // ---- Held-out tasks

  void evaluate_if_due() {
    const bool due = step_ % config_.evaluate_every == 0 || step_ == config_.steps;
    if (config_.validation > 0 && due && evaluated_ < step_) evaluate();
  }

  // Asks about held-out tasks and moves the curriculum. Leaves all as it is if the run is stopped
  // meanwhile.
  void evaluate() {
    const auto start = Clock::now();
    const int level = curriculum_.level();
    const std::vector<RlTask>& tasks = held_out();
    if (stop_) return;
    const auto batch = batch_maker_->ask(tasks);
    if (!batch) return;
    const BatchSummary summary = summarise(*batch, config_.objective);
    HeldOut found;
    for (const auto& [each, right] : summary.by_level) {
      found.correct += right.first;
      found.judged += right.second;
    }
    evaluated_ = step_;
    if (found.judged == 0) {  // which says nothing about the model
      progress_.line("held out: nothing could be judged");
      return;
    }
    const Curriculum::Step step = curriculum_.take(found);
    Json numbers = {{"level", level},
                    {"pass", summary.correct},
                    {"pass_from", lower_bound_of(found)},
                    {"valid", summary.valid},
                    {"right", found.correct},
                    {"judged", found.judged},
                    {"validate_seconds", seconds_since(start)}};
    add_pass_by_level(summary, numbers);
    log_->write(step_, "held_out", numbers);
    last_held_out_ = held_out_line(level, found);
    progress_.line(last_held_out_);
    if (step == Curriculum::Step::kPromoted) {
      progress_.line("goes on to level " + std::to_string(curriculum_.level()));
    } else if (step == Curriculum::Step::kEnds) {
      progress_.line("ends: it gets no better");
    }
  }

  // Returns held-out tasks of the curriculum's level, or of all levels if they are learned
  // together.
  const std::vector<RlTask>& held_out() {
    if (held_out_level_ == curriculum_.level()) return held_out_;
    std::vector<double> weights = curriculum_.weights();
    if (config_.one_by_one) {
      for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] = config_.levels[i] == curriculum_.level() ? 1 : 0;
      }
    }
    held_out_ = held_out_source_.next(static_cast<size_t>(config_.validation), 0, weights).tasks;
    held_out_level_ = curriculum_.level();
    return held_out_;
  }

  const RlConfig& config_;
  const std::atomic<bool>& stop_;
  const RunProgress& progress_;
  Judge& judge_;
  const RunFolder folder_;
  const std::optional<FoundCheckpoint>& from_;
  const RunStart start_;
  Generator generator_;
  const DeviceProfile profile_;
  RlTaskSource tasks_, held_out_source_;
  Curriculum curriculum_;
  const Objective objective_;
  std::optional<TrainLog> log_;

  int64_t step_ = 0;        // batches learned from so far
  uint64_t place_ = 0;      // of the next task, after these batches
  bool is_kept_ = true;     // whether a checkpoint holds all that was learned
  int64_t evaluated_ = -1;  // the last step at which held-out tasks were asked about
  int held_out_level_ = -1;
  std::vector<RlTask> held_out_;

  BrokenSteps broken_;
  Clock::time_point step_start_;
  PhaseSeconds phases_;
  std::vector<double> rewards_;
  std::string last_line_, last_held_out_;

  std::optional<RlBatchMaker> batch_maker_;  // last: its threads use the others
};

}  // namespace

RlEnd run_rl(const RlConfig& config, const Settings& settings, const fs::path& run,
             const std::atomic<bool>& stop, const RunProgress& progress, const RlCrew& crew) {
  check(config);
  check_drawable(task_programs(config, config.validation > 0 ? Split::kValidation : Split::kTrain));
  return RlRun(config, settings, run, stop, progress, crew).go();
}

}  // namespace kw::train
