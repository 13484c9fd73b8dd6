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
#include "train/run/train_log.h"
#include "train/step/broken_steps.h"
#include "train/step/placement.h"
#include "train/step/sft_step.h"
#include "worker/jobs.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

PairOptions pair_options(const SftConfig& config, Split split) {
  PairOptions out{program_options(config, split)};
  out.schedules = static_cast<int>(config.schedules);
  return out;
}

// Sources of training pairs, each with a pool of its own, and the pools.
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

// What a run learns from, and what is held out.
struct Lessons {
  std::unique_ptr<PairMakers> makers;  // behind examples of pairs
  std::vector<std::unique_ptr<ExampleSource>> made;
  std::vector<ExampleSource*> sources;
  std::vector<Example> held_out;
  std::string rows;  // hash of the file, where it is one
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
  Lessons out;
  out.rows = sha256_hex(read_file(config.rows));
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

}  // namespace

void describe(Settings& s, SftConfig& c) {
  const double lot = 1e9;
  describe(s, static_cast<RunConfig&>(c));
  s.add("data.schedules", c.schedules, "answers of the teacher to each program", 1, 1000);
  s.add("data.rows", c.rows,
        "lines of JSON with a conversation each to learn from, in place of the teacher's pairs");
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
  const std::string said = check_start(config, /*has_reference=*/false, run);
  if (!said.empty()) progress.line(said);
  if (config.rows.empty()) {
    check_drawable(
        pair_options(config, config.validation > 0 ? Split::kValidation : Split::kTrain));
  }
  const RunFolder folder(run, settings, start_of(config, /*has_reference=*/false));
  const auto& from = folder.from();
  const RunTokenizer read = read_tokenizer(config, from);
  const AnswerFormat format(read.tokenizer);
  const Transformer model = make_model(config, read.tokenizer, format.end(), from);
  check_row(config, model.config().context);
  const auto optimizer = make_optimizer(
      config, model, {.beta2 = config.beta2, .decay = config.decay, .clip = config.clip}, from);
  Replicas models(model, config.devices);
  ExampleStream::Place place;
  int64_t step = 0;
  if (from) {
    step = from->step;
    place = {from->state.at("chunk").get<uint64_t>(), from->state.at("example").get<uint64_t>()};
    progress.line(folder.goes_on_line());
  }
  const DeviceProfile profile = device_profile(config.target);
  const Lessons lessons = config.rows.empty() ? lessons_of_pairs(config, format, profile)
                                              : lessons_of_rows(config, format);
  if (from && from->state.value("rows", "") != lessons.rows) {
    throw InputError("data.rows is another file than the run has learned from: a new run folder");
  }
  const std::vector<Example>& validation = lessons.held_out;
  ExampleStream stream(
      lessons.sources,
      {.longest = static_cast<size_t>(config.row), .seed = static_cast<uint64_t>(config.seed)},
      place);
  TrainLog log(run, step + 1);
  const Schedule schedule{config.rate, config.last_rate, config.warmup, config.steps};
  const auto row = static_cast<size_t>(config.row);
  const auto at_once = static_cast<size_t>(config.rows_at_once);
  const auto keep = [&] {
    const ExampleStream::Place at = stream.place();
    folder.keep(step, model, read.json, *optimizer,
                {{"chunk", at.chunk}, {"example", at.example}, {"rows", lessons.rows}});
  };
  const auto learn = [&](const std::vector<Example>& examples, Clock::time_point start,
                         double waited) {
    const double rate = schedule.at(step);
    const SftReport report = sft_step(models, *optimizer, examples, row, at_once, rate);
    ++step;
    const double seconds = seconds_since(start);
    log.write(step, "sft",
              {{"loss", report.loss},
               {"norm", report.norm},
               {"rate", rate},
               {"tokens", report.tokens},
               {"filled", report.filled},
               {"seconds", seconds},
               {"waited_seconds", stream.waited_seconds() - waited},
               {"too_long", stream.too_long()},
               {"unrecorded", stream.unrecorded()},
               {"tokens_per_second", static_cast<double>(report.tokens) / seconds}});
    progress.line("step " + std::to_string(step) + " of " + std::to_string(config.steps) +
                  ": loss " + four_digits(report.loss));
    return report.norm;
  };
  int64_t kept = step;
  BrokenSteps broken;
  try {
    while (step < config.steps) {
      const auto start = Clock::now();
      const double waited = stream.waited_seconds();
      const auto examples =
          stop ? std::vector<Example>() : stream.next(static_cast<size_t>(config.tokens), stop);
      if (examples.empty()) break;  // stopped
      const double norm = learn(examples, start, waited);
      broken.take(norm, step == config.steps, "sft.rate");
      if (!validation.empty() && (step % config.evaluate_every == 0 || step == config.steps)) {
        const double loss = sft_loss(model, validation, row, at_once);
        log.write(step, "validation", {{"loss", loss}});
        progress.line("held out: loss " + four_digits(loss));
      }
      if (broken.now() || (step % config.checkpoint_every != 0 && step != config.steps)) continue;
      keep();
      kept = step;
    }
  } catch (const EnvironmentError&) {  // what was learned so far is not lost with it
    if (kept != step && !broken.now()) keep();
    throw;
  }
  if (kept != step) keep();
  return step;
}

}  // namespace kw
