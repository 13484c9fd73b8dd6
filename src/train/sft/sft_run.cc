#include "train/sft/sft_run.h"

#include <chrono>
#include <cmath>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"
#include "formats/base/timed.h"
#include "runtime/session.h"
#include "train/data/example_stream.h"
#include "train/run/run_folder.h"
#include "train/run/run_start.h"
#include "train/run/train_log.h"
#include "train/step/broken_steps.h"
#include "train/step/sft_step.h"
#include "worker/jobs.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

PairOptions pair_options(const SftConfig& config, Split split) {
  PairOptions out{program_options(config, split)};
  out.schedules = static_cast<int>(config.schedules);
  return out;
}

// Sources of training pairs, each with a separate pool of workers, and these pools.
class PairMakers {
 public:
  PairMakers(const SftConfig& config, const DeviceProfile& profile)
      : session_({profile, default_worker_config(), default_executor_config("cpu")}) {
    for (int64_t i = 0; i < config.makers; ++i) {
      pools_.push_back(std::make_unique<WorkerPool>(session_.workers, &session_.zygote));
      made_.push_back(std::make_unique<PairSource>(pair_options(config, Split::kTrain),
                                                   *pools_.back(), profile));
      sources_.push_back(made_.back().get());
    }
  }
  WorkerPool& pool() const { return *pools_.front(); }
  const std::vector<PairSource*>& sources() const { return sources_; }

 private:
  Session session_;  // for its zygote
  std::vector<std::unique_ptr<WorkerPool>> pools_;
  std::vector<std::unique_ptr<PairSource>> made_;
  std::vector<PairSource*> sources_;
};

std::string four_digits(double loss) { return Json(std::round(loss * 1e4) / 1e4).dump(); }

// The examples that a run learns from, and those that are held out.
struct Lessons {
  std::unique_ptr<PairMakers> makers;  // what examples of pairs are made by; null for a file
  std::vector<std::unique_ptr<ExampleSource>> made;
  std::vector<ExampleSource*> sources;
  std::vector<Example> held_out;
  std::string rows;  // hash of the file; empty for pairs
  void add(std::unique_ptr<ExampleSource> source) {
    sources.push_back(source.get());
    made.push_back(std::move(source));
  }
  void hold_out(Example example, int64_t longest) {
    if (static_cast<int64_t>(example.tokens.size()) <= longest)
      held_out.push_back(std::move(example));
  }
};

Lessons lessons_of_pairs(const SftConfig& config, const AnswerFormat& format,
                         const DeviceProfile& profile) {
  Lessons out;
  out.makers = std::make_unique<PairMakers>(config, profile);
  for (PairSource* pairs : out.makers->sources()) {
    out.add(std::make_unique<PairExamples>(*pairs, format, static_cast<uint64_t>(config.programs)));
  }
  PairOptions options = pair_options(config, Split::kValidation);
  options.schedules = 1;
  PairSource held_out(options, out.makers->pool(), profile);
  for (const Pair& pair : held_out.make(0, static_cast<uint64_t>(config.validation))) {
    out.hold_out(format.example(pair.prompt, pair.plan, pair.code), config.row);
  }
  return out;
}

Lessons lessons_of_rows(const SftConfig& config, const AnswerFormat& format) {
  std::vector<Conversation> rows = read_conversations(config.rows);
  if (config.file == "same") {
    std::erase_if(rows, [](const Conversation& row) { return row.file != "same"; });
    if (rows.empty()) throw InputError(config.rows + " has no row with `file` same (data.file)");
  }
  Lessons out;
  out.rows = sha256_hex(read_file(config.rows, UINTMAX_MAX));  // they have been read
  for (const Conversation& row : hold_out(rows, static_cast<size_t>(config.validation))) {
    out.hold_out(format.example(row.prompt, row.plan, row.code), config.row);
  }
  out.add(std::make_unique<RowExamples>(rows, format, static_cast<uint64_t>(config.programs),
                                        static_cast<uint64_t>(config.seed)));
  return out;
}

void check_row(const SftConfig& config, int64_t positions) {
  if (config.row <= positions) return;
  throw InputError("sft.row is " + std::to_string(config.row) + ", and the model has " +
                   std::to_string(positions) + " positions");
}

class SftRun {
 public:
  SftRun(const SftConfig& config, const Settings& settings, const fs::path& run,
         const std::atomic<bool>& stop, const RunProgress& progress)
      : config_(config),
        stop_(stop),
        progress_(progress),
        folder_(run, settings, fingerprint_of_start(config, /*has_reference=*/false)),
        from_(folder_.from()),
        start_(load_start(
            config, {.adam = {.beta2 = config.beta2, .decay = config.decay, .clip = config.clip}},
            from_)),
        models_(start_.model, config.devices),
        profile_(device_profile(config.target)) {
    check_row(config, start_.model.config().context);
  }

  // Runs from the last checkpoint to the last step, or until it is stopped.
  int64_t go() {
    restore();
    try {
      while (step_ < config_.steps && !stop_) {
        const auto start = Clock::now();
        const double waited = stream_->waited_seconds();
        const auto examples = stream_->next(static_cast<size_t>(config_.tokens), stop_);
        if (examples.empty()) break;  // stopped
        learn(examples, start, waited);
        evaluate_if_due();
        const bool due = step_ % config_.checkpoint_every == 0 || step_ == config_.steps;
        if (due && !broken_.now()) keep();
      }
    } catch (const EnvironmentError&) {  // what was learned so far is not lost with the machine
      if (kept_ != step_ && !broken_.now()) keep();
      throw;
    }
    if (kept_ != step_) keep();
    return step_;
  }

 private:
  void restore() {
    ExampleStream::Place place;
    if (from_) {
      step_ = kept_ = from_->step;
      place = {from_->state.at("chunk").get<uint64_t>(),
               from_->state.at("example").get<uint64_t>()};
      progress_.line(folder_.goes_on_line());
    }
    lessons_ = config_.rows.empty() ? lessons_of_pairs(config_, start_.format, profile_)
                                    : lessons_of_rows(config_, start_.format);
    if (from_ && from_->state.value("rows", "") != lessons_.rows) {
      throw InputError("data.rows is another file than the run has learned from: a new run folder");
    }
    stream_.emplace(lessons_.sources,
                    ExampleStream::Options{.longest = static_cast<size_t>(config_.row),
                                           .seed = static_cast<uint64_t>(config_.seed)},
                    place);
    log_.emplace(folder_.path(), step_ + 1);
  }

  // Writes a checkpoint.
  void keep() {
    const ExampleStream::Place at = stream_->place();
    folder_.keep(step_, start_.model, start_.tokenizer_json, *start_.optimizer,
                 {{"chunk", at.chunk}, {"example", at.example}, {"rows", lessons_.rows}});
    kept_ = step_;
  }

  // Makes one step and reports it. `waited`: the stream's seconds before the step.
  void learn(const std::vector<Example>& examples, Clock::time_point start, double waited) {
    const double rate =
        Schedule{config_.rate, config_.last_rate, config_.warmup, config_.steps}.at(step_);
    const SftReport report =
        sft_step(models_, *start_.optimizer, examples, static_cast<size_t>(config_.row),
                 static_cast<size_t>(config_.rows_at_once), rate);
    ++step_;
    const double seconds = seconds_since(start);
    log_->write(step_, "sft",
                {{"loss", report.loss},
                 {"norm", report.norm},
                 {"rate", rate},
                 {"tokens", report.tokens},
                 {"filled", report.filled},
                 {"seconds", seconds},
                 {"waited_seconds", stream_->waited_seconds() - waited},
                 {"too_long", stream_->too_long()},
                 {"unrecorded", stream_->unrecorded()},
                 {"tokens_per_second", static_cast<double>(report.tokens) / seconds}});
    progress_.line("step " + std::to_string(step_) + " of " + std::to_string(config_.steps) +
                   ": loss " + four_digits(report.loss));
    broken_.take(report.norm, step_ == config_.steps, "sft.rate");
  }

  // Reports the loss on held-out examples.
  void evaluate_if_due() {
    const bool due = step_ % config_.evaluate_every == 0 || step_ == config_.steps;
    if (lessons_.held_out.empty() || !due) return;
    const double loss = sft_loss(start_.model, lessons_.held_out, static_cast<size_t>(config_.row),
                                 static_cast<size_t>(config_.rows_at_once));
    log_->write(step_, "validation", {{"loss", loss}});
    progress_.line("held out: loss " + four_digits(loss));
  }

  const SftConfig& config_;
  const std::atomic<bool>& stop_;
  const RunProgress& progress_;
  const RunFolder folder_;
  const std::optional<FoundCheckpoint>& from_;
  const RunStart start_;
  Replicas models_;
  const DeviceProfile profile_;
  Lessons lessons_;
  std::optional<TrainLog> log_;

  int64_t step_ = 0;  // steps made so far
  int64_t kept_ = 0;  // the step of the last checkpoint
  BrokenSteps broken_;

  std::optional<ExampleStream> stream_;  // last: its threads use the lessons
};

}  // namespace

void describe(Settings& s, SftConfig& c) {
  const double lot = 1e9;
  describe(s, static_cast<RunConfig&>(c));
  s.add("data.schedules", c.schedules, "answers of the teacher to each program", 1, 1000);
  s.add("data.rows", c.rows,
        "lines of JSON with a conversation each to learn from, in place of the teacher's pairs");
  s.add(
      "data.file", c.file,
      "same: of data.rows, those whose own text does in plain Python what was judged (column file)",
      {"any", "same"});
  s.add("data.programs", c.programs, "or rows, of a chunk, which is shuffled", 1, 1 << 20);
  s.add("data.makers", c.makers, "chunks that are made at once, each with workers of its own", 1,
        64);
  s.add("sft.steps", c.steps, "updates", 1);
  s.add("sft.tokens", c.tokens, "of a step", 1, 1 << 28);
  s.add("sft.row", c.row, "places that examples are packed into; longer ones are left out", 16,
        1 << 20);
  s.add("sft.rows_at_once", c.rows_at_once, "of a part of a step, as memory allows", 1, 1 << 20);
  s.add("sft.devices", c.devices, "GPUs that share a step, from the first on", 1, 64);
  s.add("sft.rate", c.rate, "learning rate after the warm-up", 0, 1);
  s.add("sft.last_rate", c.last_rate, "learning rate at the end", 0, 1);
  s.add("sft.warmup", c.warmup, "steps of rising rate", 0);
  s.add("sft.decay", c.decay, "of weights", 0, lot);
  s.add("sft.clip", c.clip, "norm that gradients are cut to; 0: never", 0, lot);
  s.add("sft.beta2", c.beta2, "of Adam", 0, 0.999999);
  s.add("sft.validation", c.validation,
        "programs of the validation split, or rows, which are then not learned from", 0, 1 << 20);
  s.add("sft.evaluate_every", c.evaluate_every, "steps between losses on these", 1);
  s.add("sft.checkpoint_every", c.checkpoint_every, "steps between checkpoints", 1);
}

void check(const SftConfig& config) {
  check(static_cast<const RunConfig&>(config));
  if (config.init.empty()) check_row(config, config.context);
}

int64_t run_sft(const SftConfig& config, const Settings& settings, const fs::path& run,
                const std::atomic<bool>& stop, const RunProgress& progress) {
  check(config);
  if (config.rows.empty()) {
    check_drawable(
        pair_options(config, config.validation > 0 ? Split::kValidation : Split::kTrain));
  }
  return SftRun(config, settings, run, stop, progress).go();
}

}  // namespace kw::train
