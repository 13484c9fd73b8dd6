#include "train/rl_run.h"

#include <chrono>
#include <future>
#include <memory>

#include "formats/error.h"
#include "synth/hygiene.h"
#include "synth/random.h"
#include "train/checkpoint.h"
#include "train/rl_batch.h"
#include "train/rl_report.h"
#include "train/train_log.h"
#include "train/verifier_judge.h"
#include "worker/jobs.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kTrialStream = 106;  // of seeds that answers are tried by
constexpr int64_t kHeldOutStep = -1;    // whose numbers answers to held-out tasks are drawn by
constexpr size_t kShownRewards = 60;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Adds what passes while it lives.
class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds) {}
  ~Timed() { seconds_ += seconds_since(start_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& seconds_;
  const Clock::time_point start_ = Clock::now();
};

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

class RlRun {
 public:
  RlRun(const RlConfig& config, const Settings& settings, const fs::path& run,
        const std::atomic<bool>& stop, const RunProgress& progress, Judge& judge,
        const RlTaskSource::IsFair& is_fair)
      : config_(config),
        settings_(settings),
        run_(run),
        stop_(stop),
        progress_(progress),
        judge_(judge),
        from_(checkpoint_of(run, settings)),
        read_(read_tokenizer(config)),
        format_(read_.tokenizer),
        model_(make_model(config, read_.tokenizer, format_.end(), from_)),
        adam_(model_.parameters(),
              {.beta2 = config.beta2, .decay = config.decay, .clip = config.clip_norm}),
        generator_(model_, read_.tokenizer, generator_options(config, model_)),
        profile_(device_profile(config.target)),
        pool_(default_worker_config()),
        tasks_(task_programs(config, Split::kTrain), task_options(config, config.tasks), format_,
               pool_, profile_, is_fair),
        held_out_source_(task_programs(config, Split::kValidation), task_options(config, 0),
                         format_, pool_, profile_, is_fair),
        curriculum_(curriculum_options(config)),
        objective_(make_objective(config.objective)) {
    if (config.objective.kl_weight > 0) {
      reference_.emplace(make_model(config, read_.tokenizer, format_.end(), std::nullopt));
    }
  }

  RlEnd go() {
    restore();
    pool_.start();  // by the thread that outlives it
    evaluate_if_due();
    bool kept = true;
    while (step_ < config_.steps && !curriculum_.ended() && !stop_) {
      begin_step();
      const auto batch = next_batch();
      if (!batch) break;
      learn(*batch);
      evaluate_if_due();
      kept = step_ % config_.checkpoint_every == 0 || step_ == config_.steps;
      if (kept) keep();
    }
    if (!kept) keep();
    return {step_, step_ >= config_.steps || curriculum_.ended()};
  }

 private:
  void restore() {
    if (from_) {
      adam_.load(from_->folder / "adam.safetensors");
      step_ = from_->step;
      place_ = from_->state.at("place").get<uint64_t>();
      evaluated_ = from_->state.at("evaluated").get<int64_t>();
      curriculum_.restore(from_->state.at("curriculum"));
      progress_.line("goes on from step " + std::to_string(step_));
    }
    drawn_to_ = place_;
    sampled_ = step_;
    log_.emplace(run_, from_ ? step_ + 1 : 0);
  }

  void keep() {
    write_checkpoint_of_run(run_, step_, model_, read_.json, adam_,
                            {{"settings", settings_.record()},
                             {"sources", settings_.sources()},
                             {"place", place_},
                             {"evaluated", evaluated_},
                             {"curriculum", curriculum_.state()}});
  }

  void begin_step() {
    start_ = Clock::now();
    phases_.clear();
  }

  void show(const std::string& now) const {
    if (!progress_.live) return;
    progress_.live({last_line_,
                    "rewards " + sparkline(rewards_, kShownRewards) + "  level " +
                        std::to_string(curriculum_.level()) + "  " + last_held_out_,
                    now});
  }

  // ---- Batches

  // The next batch, sampled and judged; nothing where the run is to stop.
  std::optional<RlBatch> next_batch() {
    if (!config_.overlap) {
      auto batch = sample();
      if (batch) batch->report = judged(*batch);
      return batch;
    }
    if (!judging_.valid() && !begin_judging()) return {};
    if (sampled_ < config_.steps) {  // while the one before is judged
      ahead_ = sample();
      if (!ahead_) return {};
    }
    RlBatch out = [&] {
      const Timed timed(phases_["judge"]);
      show("judging");
      return judging_.get();
    }();
    if (ahead_) begin_judging();
    return out;
  }

  // Of the batch that is sampled already, or of one that now is.
  bool begin_judging() {
    auto batch = ahead_ ? std::exchange(ahead_, std::nullopt) : sample();
    if (!batch) return false;
    judging_ = std::async(std::launch::async, [this, own = std::move(*batch)]() mutable {
      own.report = judge_.judge(answers_of(own), trial_seed(own.step));
      return std::move(own);
    });
    return true;
  }

  JudgeReport judged(const RlBatch& batch) {
    const Timed timed(phases_["judge"]);
    show("judging");
    return judge_.judge(answers_of(batch), trial_seed(batch.step));
  }

  uint64_t trial_seed(int64_t step) const {
    return Random(static_cast<uint64_t>(config_.seed), static_cast<uint64_t>(step), kTrialStream)
        .bits();
  }

  struct Drawn {
    std::vector<RlTask> tasks;
    uint64_t place = 0;
  };
  Drawn draw(uint64_t place, const std::vector<double>& weights) {
    Drawn out{{}, place};
    out.tasks = tasks_.next(static_cast<size_t>(config_.prompts), out.place, weights);
    return out;
  }

  Drawn next_tasks() {
    const Timed timed(phases_["draw"]);
    show("drawing tasks");
    Drawn out = drawing_.valid() ? drawing_.get() : draw(drawn_to_, curriculum_.weights());
    drawn_to_ = out.place;
    if (config_.overlap && sampled_ + 1 < config_.steps) {
      drawing_ = std::async(std::launch::async,
                            [this, place = drawn_to_, weights = curriculum_.weights()] {
                              return draw(place, weights);
                            });
    }
    return out;
  }

  std::optional<RlBatch> sample() {
    Drawn drawn = next_tasks();
    RlBatch out;
    out.step = sampled_++;
    out.place = drawn.place;
    out.tasks = std::move(drawn.tasks);
    out.answers = static_cast<size_t>(config_.answers);
    const Timed timed(phases_["generate"]);
    if (!generate(out, config_.answers, "writing")) return {};
    return out;
  }

  // Answers to the batch's tasks; false where the run is to stop.
  bool generate(RlBatch& batch, int64_t answers, const std::string& what) {
    const SamplingOptions options{answers, config_.max_tokens, config_.temperature};
    const auto requests =
        requests_of(batch.tasks, options, static_cast<uint64_t>(config_.seed), batch.step);
    batch.made.resize(requests.size());
    std::map<size_t, size_t> places;
    for (size_t i = 0; i < requests.size(); ++i) places[generator_.submit(requests[i])] = i;
    size_t done = 0;
    while (!generator_.idle()) {
      if (stop_) return false;
      for (auto& [number, made] : generator_.advance()) {
        batch.made[places.at(number)] = std::move(made);
        ++done;
      }
      show(what + ": " + std::to_string(done) + " of " + std::to_string(requests.size()) +
           " answers");
    }
    return true;
  }

  // ---- Learning

  void learn(const RlBatch& batch) {
    StepReport report;
    report.level = curriculum_.level();
    {
      const Timed timed(phases_["update"]);
      show("learning");
      report.learned = update_all(groups_of(batch, format_));
    }
    ++step_;
    place_ = batch.place;
    report.step = step_;
    report.steps = config_.steps;
    report.seconds = seconds_since(start_);
    report.phases = phases_;
    report.judge = {batch.report.seconds, batch.report.build_seconds,
                    batch.report.executor_seconds};
    const BatchSummary summary = summarise(batch, config_.objective);
    log_->write(step_, "rl", step_numbers(report, summary, tasks_.counts()));
    rewards_.push_back(summary.reward);
    last_line_ = step_line(report, summary);
    progress_.line(last_line_);
  }

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
    for (double* mean : {&out.loss, &out.kl, &out.clipped, &out.norm}) *mean /= count;
    return out;
  }

  UpdateReport update_one(const std::vector<SampledGroup>& groups, double rate) {
    return update(model_, reference_ ? &*reference_ : nullptr, adam_, groups, objective_, rate,
                  {.row = static_cast<size_t>(config_.row),
                   .rows_at_once = static_cast<size_t>(config_.rows_at_once),
                   .temperature = config_.temperature});
  }

  static void add(const UpdateReport& one, LearnReport& out) {
    out.loss += one.loss;
    out.kl += one.kl;
    out.clipped += one.clipped;
    out.norm += one.norm;
    out.tokens += one.tokens;
    ++out.updates;
  }

  // ---- Held-out tasks

  void evaluate_if_due() {
    const bool due = step_ % config_.evaluate_every == 0 || step_ == config_.steps;
    if (config_.validation > 0 && due && evaluated_ < step_) evaluate();
  }

  // Nothing comes of it where the run is to stop meanwhile.
  void evaluate() {
    const auto start = Clock::now();
    const int level = curriculum_.level();
    RlBatch batch;
    batch.step = kHeldOutStep;
    batch.tasks = held_out();
    batch.answers = 1;
    if (!generate(batch, 1, "held-out tasks")) return;
    if (judging_.valid()) judging_.wait();  // one caller at a time
    batch.report = judge_.judge(answers_of(batch), trial_seed(kHeldOutStep));
    const BatchSummary summary = summarise(batch, config_.objective);
    HeldOut found;
    for (const auto& [each, right] : summary.by_level) {
      found.correct += right.first;
      found.judged += right.second;
    }
    evaluated_ = step_;
    const Curriculum::Step step = curriculum_.take(found);
    log_->write(step_, "held_out",
                {{"level", level},
                 {"pass", summary.correct},
                 {"pass_from", lower_bound_of(found)},
                 {"valid", summary.valid},
                 {"right", found.correct},
                 {"judged", found.judged},
                 {"validate_seconds", seconds_since(start)}});
    last_held_out_ = held_out_line(level, found);
    progress_.line(last_held_out_);
    if (step == Curriculum::Step::kPromoted) {
      progress_.line("goes on to level " + std::to_string(curriculum_.level()));
    } else if (step == Curriculum::Step::kEnds) {
      progress_.line("ends: it gets no better");
    }
  }

  // Of the curriculum's level; with all levels at once, of all of them.
  const std::vector<RlTask>& held_out() {
    if (held_out_level_ == curriculum_.level()) return held_out_;
    std::vector<double> weights = curriculum_.weights();
    if (config_.one_by_one) {
      for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] = config_.levels[i] == curriculum_.level() ? 1 : 0;
      }
    }
    uint64_t place = 0;
    held_out_ = held_out_source_.next(static_cast<size_t>(config_.validation), place, weights);
    held_out_level_ = curriculum_.level();
    return held_out_;
  }

  const RlConfig& config_;
  const Settings& settings_;
  const fs::path run_;
  const std::atomic<bool>& stop_;
  const RunProgress& progress_;
  Judge& judge_;
  const std::optional<FoundCheckpoint> from_;
  const RunTokenizer read_;
  const AnswerFormat format_;
  const Transformer model_;
  std::optional<Transformer> reference_;
  AdamW adam_;
  Generator generator_;
  const DeviceProfile profile_;
  WorkerPool pool_;
  RlTaskSource tasks_, held_out_source_;
  Curriculum curriculum_;
  const Objective objective_;
  std::optional<TrainLog> log_;

  int64_t step_ = 0;     // batches learned from
  uint64_t place_ = 0;   // of tasks, behind these
  int64_t sampled_ = 0;  // batches sampled
  uint64_t drawn_to_ = 0;
  int64_t evaluated_ = -1;  // the last step at which held-out tasks were
  int held_out_level_ = -1;
  std::vector<RlTask> held_out_;

  Clock::time_point start_;
  PhaseSeconds phases_;
  std::vector<double> rewards_;
  std::string last_line_, last_held_out_;

  // Last, so that threads end before what they use.
  std::optional<RlBatch> ahead_;  // sampled, not yet with the judge
  std::future<RlBatch> judging_;
  std::future<Drawn> drawing_;
};

}  // namespace

RlEnd run_rl(const RlConfig& config, const Settings& settings, const fs::path& run,
             const std::atomic<bool>& stop, const RunProgress& progress, Judge& judge,
             const RlTaskSource::IsFair& is_fair) {
  check(config);
  return RlRun(config, settings, run, stop, progress, judge, is_fair).go();
}

RlEnd run_rl(const RlConfig& config, const Settings& settings, const fs::path& run,
             const std::atomic<bool>& stop, const RunProgress& progress) {
  check(config);
  const bool gpu = config.backend == "cuda" || (config.backend == "auto" && at::hasCUDA());
  const DeviceProfile profile = device_profile(config.target);
  const WorkerConfig workers = default_worker_config();
  ExecutorClient executor(default_executor_config(gpu ? "cuda" : "cpu"));
  VerifierJudge judge(workers, executor, profile,
                      {.jobs = static_cast<int>(config.judge_jobs),
                       .trials = static_cast<int>(config.trials),
                       .time = config.time,
                       .build_seconds = config.build_seconds,
                       .trial_seconds = config.trial_seconds});
  RlTaskSource::IsFair is_fair;
  WorkerPool unused(workers);  // records nothing: tasks are recorded already
  Examiner examiner(unused, executor, profile);
  if (config.hygiene) {
    is_fair = [&](const Task& task, uint64_t seed) {
      return examiner.examine(task, seed).flaw == Flaw::kNone;
    };
  }
  return run_rl(config, settings, run, stop, progress, judge, is_fair);
}

}  // namespace kw
