#include "train/sft_run.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>

#include "formats/error.h"
#include "train/checkpoint.h"
#include "train/example_stream.h"
#include "train/placement.h"
#include "train/sft.h"
#include "train/train_log.h"
#include "worker/jobs.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError(path.string() + ": cannot be read (is it there?)");
  return std::move(text).str();
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Transformer make_model(const SftConfig& config, const Tokenizer& tokenizer, TokenId end,
                       const std::optional<FoundCheckpoint>& from) {
  const auto options = placed(config.device);
  if (from) return Transformer(from->folder / "model", options);
  if (!config.init.empty()) return Transformer(fs::path(config.init), options);
  ModelConfig shape;
  shape.type = "qwen3";
  shape.vocabulary = (tokenizer.size() + 63) / 64 * 64;
  shape.width = config.width;
  shape.layers = config.layers;
  shape.heads = config.heads;
  shape.kv_heads = config.kv_heads;
  if (config.width % config.heads != 0 || config.heads % config.kv_heads != 0) {
    throw InputError("model.heads must divide model.width, and model.kv_heads model.heads");
  }
  shape.head_width = config.width / config.heads;
  shape.inner = config.inner;
  shape.context = config.context;
  shape.tied = shape.qk_norm = true;
  shape.end_tokens = {end};
  return Transformer(shape, options, static_cast<uint64_t>(config.seed));
}

PairOptions pair_options(const SftConfig& config, Split split) {
  PairOptions out;
  out.seed = static_cast<uint64_t>(config.seed);
  out.levels.assign(config.levels.begin(), config.levels.end());
  out.schedules = static_cast<int>(config.schedules);
  out.threads = static_cast<int>(config.threads);
  if (config.log_low.size() != config.log_high.size()) {
    throw InputError("data.log_low and data.log_high are lists of one length: windows from, to");
  }
  out.limits.clear();
  for (size_t i = 0; i < config.log_low.size(); ++i) {
    DimsLimits& window = out.limits.emplace_back();
    window.low_flops = std::exp2(static_cast<double>(config.log_low[i]));
    window.high_flops = std::exp2(static_cast<double>(config.log_high[i]));
  }
  out.split = split;
  return out;
}

// Sources of training pairs, each with a pool of its own, and the pools.
class PairMakers {
 public:
  PairMakers(const SftConfig& config, const DeviceProfile& profile) {
    for (int64_t i = 0; i < config.makers; ++i) {
      pools_.push_back(std::make_unique<WorkerPool>(default_worker_config()));
      made_.push_back(std::make_unique<PairSource>(pair_options(config, Split::kTrain),
                                                   *pools_.back(), profile));
      sources_.push_back(made_.back().get());
    }
  }
  WorkerPool& pool() const { return *pools_.front(); }
  const std::vector<PairSource*>& sources() const { return sources_; }

 private:
  std::vector<std::unique_ptr<WorkerPool>> pools_;
  std::vector<std::unique_ptr<PairSource>> made_;
  std::vector<PairSource*> sources_;
};

std::vector<Example> validation_examples(const SftConfig& config, const AnswerFormat& format,
                                         WorkerPool& pool, const DeviceProfile& profile) {
  PairOptions options = pair_options(config, Split::kValidation);
  options.schedules = 1;
  std::vector<Example> out;
  for (const Pair& pair :
       PairSource(options, pool, profile).make(0, static_cast<uint64_t>(config.validation))) {
    Example example = format.example(pair.prompt, pair.plan, pair.code);
    if (static_cast<int64_t>(example.tokens.size()) <= config.row)
      out.push_back(std::move(example));
  }
  return out;
}

}  // namespace

void describe(Settings& s, SftConfig& c) {
  const double lot = 1e9;
  s.add("run.seed", c.seed, "of parameters, programs and order");
  s.add("run.device", c.device, "where the model is trained", {"auto", "cpu", "cuda"});
  s.add("run.target", c.target, "GPU that kernels are written for", {"h200", "h100", "a100"});
  s.add("model.init", c.init, "model folder to start from; without, from nothing");
  s.add("model.tokenizer", c.tokenizer, "tokenizer.json; without, that of model.init");
  s.add("model.width", c.width, "of the residual stream", 1, 1 << 20);
  s.add("model.layers", c.layers, "decoder layers", 1, 1024);
  s.add("model.heads", c.heads, "of queries", 1, 1024);
  s.add("model.kv_heads", c.kv_heads, "of keys and values", 1, 1024);
  s.add("model.inner", c.inner, "width of the feed-forward part", 1, 1 << 20);
  s.add("model.context", c.context, "positions", 16, 1 << 20);
  s.add("data.levels", c.levels, "operators of a program, each as likely", 1, 100);
  s.add("data.schedules", c.schedules, "answers of the teacher to each program", 1, 1000);
  s.add("data.programs", c.programs, "of a chunk, which is shuffled", 1, 1 << 20);
  s.add("data.threads", c.threads, "that write kernels; 0: one for each core", 0, 4096);
  s.add("data.makers", c.makers, "chunks that are made at once, each with workers of its own", 1,
        64);
  s.add("data.log_low", c.log_low, "FLOPs of a program, from 2 to this; one for each window", 10,
        60);
  s.add("data.log_high", c.log_high, "to 2 to this", 10, 60);
  s.add("sft.steps", c.steps, "updates", 1);
  s.add("sft.tokens", c.tokens, "of a step", 1);
  s.add("sft.row", c.row, "places that examples are packed into; longer ones are left out", 16);
  s.add("sft.rows_at_once", c.rows_at_once, "of a part of a step, as memory allows", 1);
  s.add("sft.rate", c.rate, "learning rate after the warm-up", 0, 1);
  s.add("sft.last_rate", c.last_rate, "learning rate at the end", 0, 1);
  s.add("sft.warmup", c.warmup, "steps of rising rate", 0);
  s.add("sft.decay", c.decay, "of weights", 0, lot);
  s.add("sft.clip", c.clip, "norm that gradients are cut to; 0: never", 0, lot);
  s.add("sft.beta2", c.beta2, "of Adam", 0, 1);
  s.add("sft.validation", c.validation, "programs of the validation split", 0, 1 << 20);
  s.add("sft.evaluate_every", c.evaluate_every, "steps between losses on these", 1);
  s.add("sft.checkpoint_every", c.checkpoint_every, "steps between checkpoints", 1);
}

int64_t run_sft(const SftConfig& config, const Settings& settings, const fs::path& run,
                const std::atomic<bool>& stop,
                const std::function<void(const std::string&)>& progress) {
  const auto from = last_checkpoint(run);
  if (from && from->state.at("settings") != settings.record()) {
    throw InputError(run.string() +
                     ": is a run of another recipe; give a folder of its own, or "
                     "remove it");
  }
  const fs::path tokenizer_path = !config.tokenizer.empty()
                                      ? fs::path(config.tokenizer)
                                      : fs::path(config.init) / "tokenizer.json";
  const std::string tokenizer_json = read_file(tokenizer_path);
  const Tokenizer tokenizer(tokenizer_json, tokenizer_path.string());
  const AnswerFormat format(tokenizer);
  const Transformer model = make_model(config, tokenizer, format.end(), from);
  AdamW adam(model.parameters(),
             {.beta2 = config.beta2, .decay = config.decay, .clip = config.clip});
  ExampleStream::Place place;
  int64_t step = 0;
  if (from) {
    adam.load(from->folder / "adam.safetensors");
    step = from->step;
    place = {from->state.at("chunk").get<uint64_t>(), from->state.at("example").get<uint64_t>()};
    progress("goes on from step " + std::to_string(step));
  }
  const DeviceProfile profile = device_profile(config.target);
  const PairMakers makers(config, profile);
  const auto validation = validation_examples(config, format, makers.pool(), profile);
  ExampleStream stream(makers.sources(), format,
                       {.programs = static_cast<uint64_t>(config.programs),
                        .longest = static_cast<size_t>(config.row),
                        .seed = static_cast<uint64_t>(config.seed)},
                       place);
  TrainLog log(run, step + 1);
  const Schedule schedule{config.rate, config.last_rate, config.warmup, config.steps};
  const auto row = static_cast<size_t>(config.row);
  const auto at_once = static_cast<size_t>(config.rows_at_once);
  const auto keep = [&] {
    const ExampleStream::Place at = stream.place();
    write_checkpoint_of_run(run, step, model, tokenizer_json, adam,
                            {{"settings", settings.record()},
                             {"sources", settings.sources()},
                             {"chunk", at.chunk},
                             {"example", at.example}});
  };
  bool kept = true;
  while (step < config.steps && !stop) {
    const auto start = Clock::now();
    const double waited = stream.waited_seconds();
    const auto examples = stream.next(static_cast<size_t>(config.tokens));
    const double rate = schedule.at(step);
    const SftReport report = sft_step(model, adam, examples, row, at_once, rate);
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
               {"tokens_per_second", static_cast<double>(report.tokens) / seconds}});
    progress("step " + std::to_string(step) + " of " + std::to_string(config.steps) + ": loss " +
             Json(std::round(report.loss * 1e4) / 1e4).dump());
    if (!validation.empty() && (step % config.evaluate_every == 0 || step == config.steps)) {
      log.write(step, "validation", {{"loss", sft_loss(model, validation, row, at_once)}});
    }
    kept = step % config.checkpoint_every == 0 || step == config.steps;
    if (kept) keep();
  }
  if (!kept) keep();
  return step;
}

}  // namespace kw
