#include "train/run/run_config.h"

#include <cmath>

#include "formats/base/error.h"
#include "synth/skeleton/synth_operators.h"

namespace kw::train {

void describe(Settings& s, RunConfig& c) {
  s.add("run.kind", c.kind, "what is done: supervised fine-tuning, reinforcement learning",
        {c.kind});
  s.add("run.seed", c.seed, "of parameters, programs and order");
  s.add("run.device", c.device, "where the model is trained", {"auto", "cpu", "cuda"});
  s.add("run.target", c.target, "GPU that kernels are written for", {"h200", "h100", "a100"});
  s.add("model.init", c.init, "model folder to start from; without, from nothing");
  s.add("model.tokenizer", c.tokenizer, "tokenizer.json; without, that of model.init");
  s.add("model.lora_rank", c.lora_rank,
        "of an adapter that learns in place of model.init, which stays, or is one that goes on; 0: "
        "all parameters learn",
        0, 1 << 16);
  s.add("model.lora_alpha", c.lora_alpha, "what the adapter's factors count for, times its rank", 1,
        1 << 20);
  s.add("model.width", c.width, "of the residual stream", 1, 1 << 20);
  s.add("model.layers", c.layers, "decoder layers", 1, 1024);
  s.add("model.heads", c.heads, "of queries", 1, 1024);
  s.add("model.kv_heads", c.kv_heads, "of keys and values", 1, 1024);
  s.add("model.inner", c.inner, "width of the feed-forward part", 1, 1 << 20);
  s.add("model.context", c.context, "positions", 16, 1 << 20);
  s.add("data.levels", c.levels, "operators of a program", 1, 40);  // as synth has it
  std::vector<std::string> known;
  for (const SynthOperator& each : synth_operators()) known.emplace_back(each.name);
  s.add("data.operators", c.operators, "that programs are made of; none: CSP-DAG's 61", known);
  s.add("data.log_low", c.log_low,
        "FLOPs of a program, from 2 to the power of this; one for each window", 10, 60);
  s.add("data.log_high", c.log_high, "to 2 to the power of this", 10, 60);
  s.add("data.threads", c.threads, "that make programs and kernels; 0: one for each core", 0, 4096);
}

void check(const RunConfig& config) {
  if (!config.init.empty()) return;  // the shape is that model's
  const auto divides = [](const char* key, int64_t part, const char* of, int64_t whole) {
    if (whole % part == 0) return;
    throw InputError(std::string(key) + " is " + std::to_string(part) + ", which does not divide " +
                     of + ", " + std::to_string(whole));
  };
  if (config.lora_rank > 0) {
    throw InputError("model.lora_rank is of an adapter to a model: it needs model.init");
  }
  divides("model.heads", config.heads, "model.width", config.width);
  divides("model.kv_heads", config.kv_heads, "model.heads", config.heads);
  if (config.width / config.heads % 2 == 0) return;
  throw InputError("model.width / model.heads is " + std::to_string(config.width / config.heads) +
                   ": positions need an even number for each head");
}

ProgramOptions program_options(const RunConfig& config, Split split) {
  if (config.log_low.size() != config.log_high.size()) {
    throw InputError("data.log_low and data.log_high have one number for each window");
  }
  ProgramOptions out;
  out.seed = static_cast<uint64_t>(config.seed);
  if (split == Split::kValidation) out.seed = validation_seed(out.seed);
  out.levels.assign(config.levels.begin(), config.levels.end());
  if (!config.operators.empty()) out.operators.clear();
  for (const std::string& name : config.operators) {
    out.operators.push_back(find_synth_operator(name));
  }
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

}  // namespace kw::train
