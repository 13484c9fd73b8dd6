#include "train/run_config.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "formats/error.h"
#include "train/placement.h"

namespace kw {

namespace fs = std::filesystem;

void describe(Settings& s, RunConfig& c) {
  s.add("run.kind", c.kind, "what is done: supervised fine-tuning, reinforcement learning",
        {c.kind});
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
  s.add("data.levels", c.levels, "operators of a program", 1, 100);
  s.add("data.log_low", c.log_low, "FLOPs of a program, from 2 to this; one for each window", 10,
        60);
  s.add("data.log_high", c.log_high, "to 2 to this", 10, 60);
  s.add("data.threads", c.threads, "that make programs and kernels; 0: one for each core", 0, 4096);
}

RunTokenizer read_tokenizer(const RunConfig& config) {
  const fs::path path = !config.tokenizer.empty() ? fs::path(config.tokenizer)
                                                  : fs::path(config.init) / "tokenizer.json";
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError(path.string() + ": cannot be read (is it there?)");
  return {text.str(), Tokenizer(text.str(), path.string())};
}

Transformer make_model(const RunConfig& config, const Tokenizer& tokenizer, TokenId end,
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

ProgramOptions program_options(const RunConfig& config, Split split) {
  if (config.log_low.size() != config.log_high.size()) {
    throw InputError("data.log_low and data.log_high have one number for each window");
  }
  ProgramOptions out;
  out.seed = static_cast<uint64_t>(config.seed);
  if (split == Split::kValidation) out.seed = validation_seed(out.seed);
  out.levels.assign(config.levels.begin(), config.levels.end());
  out.threads = static_cast<int>(config.threads);
  out.limits.clear();
  for (size_t i = 0; i < config.log_low.size(); ++i) {
    if (config.log_low[i] >= config.log_high[i]) {
      throw InputError("data.log_low is " + std::to_string(config.log_low[i]) +
                       ", which is not below data.log_high, " + std::to_string(config.log_high[i]));
    }
    DimsLimits& window = out.limits.emplace_back();
    window.low_flops = std::exp2(static_cast<double>(config.log_low[i]));
    window.high_flops = std::exp2(static_cast<double>(config.log_high[i]));
  }
  out.split = split;
  return out;
}

std::optional<FoundCheckpoint> checkpoint_of(const fs::path& run, const Settings& settings) {
  auto from = last_checkpoint(run);
  if (from && from->state.at("settings") != settings.record()) {
    throw InputError(run.string() +
                     ": is a run of another recipe; give a folder of its own, or "
                     "remove it");
  }
  return from;
}

}  // namespace kw
