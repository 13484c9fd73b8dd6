#include "train/run/run_config.h"

#include <cmath>
#include <cstdio>
#include <set>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/model_folder.h"
#include "formats/tokens/special_tokens.h"
#include "model/config.h"
#include "synth/skeleton/synth_operators.h"
#include "train/data/answer_format.h"
#include "train/run/host_memory.h"
#include "train/step/lora.h"
#include "train/step/placement.h"

namespace kw {

namespace fs = std::filesystem;

namespace {

// Of a GPU's memory its driver speaks, when it is used up; the kernel would end the process.
void check_memory(const ModelConfig& shape, const at::Device& device) {
  if (!device.is_cpu()) return;
  // Four bytes each for the model, and for adamw.h's parameters, two moments and sum of gradients.
  constexpr double kBytesOfParameter = 20, kGb = 1e9;
  const auto parameters = static_cast<double>(shape.parameters());
  const double there = host_memory();
  if (parameters * kBytesOfParameter <= there) return;
  char text[160];
  std::snprintf(text, sizeof text,
                "make %.4g parameters, which take %.4g GB when they are trained; this machine has "
                "%.4g GB",
                parameters, parameters * kBytesOfParameter / kGb, there / kGb);
  throw InputError(std::string("model.width, model.layers and model.inner ") + text);
}

// A new one, or that of model.init.
Adapter make_adapter(const RunConfig& config, const Transformer& model) {
  const ModelFolder init = find_model(config.init);
  if (!init.adapter) {
    return {model.parameters(),
            {.rank = config.lora_rank, .alpha = static_cast<double>(config.lora_alpha)},
            static_cast<uint64_t>(config.seed)};
  }
  Adapter out(model.parameters(), *init.adapter);
  if (out.config().rank == config.lora_rank && out.config().alpha == config.lora_alpha) return out;
  throw InputError("model.init is an adapter of rank " + std::to_string(out.config().rank) +
                   " and alpha " + Json(out.config().alpha).dump() +
                   ", which goes on as it is: model.lora_rank and model.lora_alpha say otherwise");
}

}  // namespace

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
  if (!config.init.empty()) return;  // that model has a shape
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

bool reads_start_again(const RunConfig& config, bool has_reference) {
  return !config.init.empty() && (config.lora_rank > 0 || has_reference);
}

std::string check_start(const RunConfig& config, bool has_reference, const fs::path& run) {
  const bool again = reads_start_again(config, has_reference);
  if (config.init.empty() || (!again && last_checkpoint(run))) return {};
  const fs::path init = config.init;
  const auto is_model = [](const fs::path& folder) {
    return fs::exists(folder / "config.json") || fs::exists(folder / kAdapterConfig);
  };
  if (!is_model(init)) {
    fs::path meant = init / "model";
    if (const auto last = last_checkpoint(init)) meant = last->folder / "model";
    throw InputError("model.init: " + config.init +
                     (is_model(meant)    ? " is no model's folder: is " + meant.string() + " meant?"
                      : fs::exists(init) ? " has no config.json"
                                         : " is not there: another run leaves it, or --set "
                                           "model.init=FOLDER"));
  }
  if (!again || !init.parent_path().filename().string().starts_with("checkpoint-")) return {};
  return "model.init is a checkpoint, which its run removes when it goes on, and this one needs "
         "it: better a copy elsewhere";
}

RunTokenizer read_tokenizer(const RunConfig& config, const std::optional<FoundCheckpoint>& from) {
  // The one that a checkpoint's model learned with, whatever became of the file since.
  const fs::path path = from                        ? from->folder / "model" / "tokenizer.json"
                        : !config.tokenizer.empty() ? fs::path(config.tokenizer)
                                                    : find_model(config.init).tokenizer;
  if (!from && config.tokenizer.empty() && config.init.empty()) {
    throw InputError("the recipe names no model to start from: --set model.init=FOLDER");
  }
  std::string json = read_file(path);
  if (!from && !config.init.empty()) {  // one that was not made for answers
    const fs::path shape = find_model(config.init).base / "config.json";
    const int64_t rows = parse_model_config(read_file(shape), shape.string()).vocabulary;
    std::string whole = with_special_tokens(json, path.string(), kAnswerTokens, rows);
    if (config.lora_rank > 0 && whole != json) {
      throw InputError(path.string() +
                       " lacks tokens of answers, and an adapter learns none: let "
                       "all parameters learn first (model.lora_rank = 0)");
    }
    json = std::move(whole);
  }
  return {json, Tokenizer(json, path.string())};
}

Transformer make_start(const RunConfig& config, const Tokenizer& tokenizer, TokenId end) {
  const auto options = placed(config.device);
  if (!config.init.empty()) {
    Transformer out(fs::path(config.init), options);
    out.end_at(end);  // a model of others may end its turns otherwise
    return out;
  }
  ModelConfig shape;
  shape.type = "qwen3";
  shape.vocabulary = (tokenizer.size() + 63) / 64 * 64;
  shape.width = config.width;
  shape.layers = config.layers;
  shape.heads = config.heads;
  shape.kv_heads = config.kv_heads;
  shape.head_width = config.width / config.heads;
  shape.inner = config.inner;
  shape.context = config.context;
  shape.tied = shape.qk_norm = true;
  shape.end_tokens = {end};
  check_memory(shape, options.device());
  return Transformer(shape, options, static_cast<uint64_t>(config.seed));
}

Transformer make_model(const RunConfig& config, const Tokenizer& tokenizer, TokenId end,
                       const std::optional<FoundCheckpoint>& from) {
  const auto options = placed(config.device);
  if (config.lora_rank > 0) {
    Transformer out(find_model(config.init).base, options);
    out.end_at(end);
    return out;
  }
  if (from) return Transformer(from->folder / "model", options);
  return make_start(config, tokenizer, end);
}

std::unique_ptr<ParameterOptimizer> make_optimizer(const RunConfig& config,
                                                   const Transformer& model,
                                                   const AdamOptions& options,
                                                   const std::optional<FoundCheckpoint>& from) {
  std::unique_ptr<ParameterOptimizer> out;
  if (config.lora_rank == 0) {
    out = std::make_unique<AdamW>(model.parameters(), options);
  } else {
    out = std::make_unique<Lora>(model, find_model(config.init).base, make_adapter(config, model),
                                 options);
  }
  if (from) out->load(from->folder / "adam.safetensors");
  return out;
}

std::string start_of(const RunConfig& config, bool has_reference) {
  return reads_start_again(config, has_reference) ? fingerprint(find_model(config.init)) : "";
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

}  // namespace kw
