#include "train/run/run_start.h"

#include <cstdio>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/model_folder.h"
#include "formats/tokens/special_tokens.h"
#include "model/config.h"
#include "train/run/host_memory.h"
#include "train/step/lora.h"
#include "train/step/placement.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

// Throws InputError if the CPU's memory cannot hold a model of this shape in training. On a GPU the
// driver reports that memory is used up; on the CPU the kernel would kill the process.
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

struct TokenizerFile {
  fs::path path;
  std::string json;
};

// Returns `file` with the special tokens of answers, if it was made without them. Throws InputError
// if the model of model.init has no rows for them, or if only an adapter learns.
TokenizerFile with_answer_tokens(TokenizerFile file, const RunConfig& config,
                                 const ModelFolder& init) {
  const fs::path shape = init.base / "config.json";
  const int64_t rows = parse_model_config(read_file(shape), shape.string()).vocabulary;
  std::string whole = with_special_tokens(file.json, file.path.string(), kAnswerTokens, rows);
  if (config.lora_rank > 0 && whole != file.json) {
    throw InputError(file.path.string() +
                     " lacks tokens of answers, and an adapter learns none: let "
                     "all parameters learn first (model.lora_rank = 0)");
  }
  return {file.path, std::move(whole)};
}

TokenizerFile read_tokenizer(const RunConfig& config, const std::optional<ModelFolder>& init,
                             const std::optional<FoundCheckpoint>& checkpoint) {
  if (checkpoint) {  // its model learned with this one, whatever became of the recipe's file since
    const fs::path path = checkpoint->folder / "model" / "tokenizer.json";
    return {path, read_file(path)};
  }
  if (!init && config.tokenizer.empty()) {
    throw InputError("the recipe names no model to start from: --set model.init=FOLDER");
  }
  const fs::path path = config.tokenizer.empty() ? init->tokenizer : fs::path(config.tokenizer);
  TokenizerFile file{path, read_file(path)};
  return init ? with_answer_tokens(std::move(file), config, *init) : file;
}

// Returns the model in `folder`. It ends answers by `end` too, as another's model may end its turns
// by another token.
Transformer read_model(const fs::path& folder, const at::TensorOptions& options, TokenId end) {
  Transformer out(folder, options);
  out.end_at(end);
  return out;
}

Transformer make_model(const RunConfig& config, const at::TensorOptions& options,
                       int64_t vocabulary, TokenId end) {
  ModelConfig shape;
  shape.type = "qwen3";
  shape.vocabulary = (vocabulary + 63) / 64 * 64;
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

// Returns the adapter of model.init, or a new one if model.init is a whole model.
Adapter make_adapter(const RunConfig& config, const ModelFolder& init, const Transformer& model) {
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

std::string fingerprint_of_start(const RunConfig& config, bool has_reference) {
  return reads_start_again(config, has_reference) ? fingerprint(find_model(config.init)) : "";
}

RunStart load_start(const RunConfig& config, const StartOptions& options,
                    const std::optional<FoundCheckpoint>& checkpoint) {
  // A run that has all of its model in its checkpoint does not need model.init any more.
  const bool needs_init = !checkpoint || reads_start_again(config, options.has_reference);
  std::optional<ModelFolder> init;
  if (!config.init.empty() && needs_init) init = find_model(config.init);
  TokenizerFile file = read_tokenizer(config, init, checkpoint);
  Tokenizer tokenizer(file.json, file.path.string());
  const TokenId end = AnswerFormat(tokenizer).end();

  const auto place = placed(config.device);
  const auto first_model = [&] {
    return init ? read_model(config.init, place, end)
                : make_model(config, place, tokenizer.size(), end);
  };
  const bool adapts = config.lora_rank > 0;
  Transformer model = adapts       ? read_model(init->base, place, end)
                      : checkpoint ? Transformer(checkpoint->folder / "model", place)
                                   : first_model();
  std::unique_ptr<ParameterOptimizer> optimizer;
  if (adapts) {  // the optimizer adds the adapter's factors to the base's weights
    optimizer =
        std::make_unique<Lora>(model, init->base, make_adapter(config, *init, model), options.adam);
  } else {
    optimizer = std::make_unique<AdamW>(model.parameters(), options.adam);
  }
  if (checkpoint) optimizer->load(checkpoint->folder / "adam.safetensors");
  std::optional<Transformer> reference;
  if (options.has_reference) reference.emplace(first_model());
  return {.tokenizer_json = std::move(file.json),
          .tokenizer = std::move(tokenizer),
          .model = std::move(model),
          .reference = std::move(reference),
          .optimizer = std::move(optimizer)};
}

}  // namespace kw::train
