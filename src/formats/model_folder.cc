#include "formats/model_folder.h"

#include "formats/error.h"
#include "formats/read_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostRank = 1 << 16;

// Options of PEFT that make something else of the factors, when they are set.
void refuse_variants(const JsonReader& in) {
  for (const char* key :
       {"use_dora", "use_rslora", "use_qalora", "use_bdlora", "fan_in_fan_out", "lora_bias"}) {
    if (in.has(key) && !in.at(key).is_null() && in.at(key).boolean()) {
      in.at(key).fail("is not supported");
    }
  }
  for (const char* key : {"modules_to_save", "rank_pattern", "alpha_pattern", "layer_replication",
                          "target_parameters", "trainable_token_indices", "arrow_config",
                          "kasa_config", "alora_invocation_tokens"}) {
    if (in.has(key) && !in.at(key).raw().empty()) in.at(key).fail("is not supported");
  }
  if (in.has("bias") && in.at("bias").string() != "none") {
    in.at("bias").fail("only \"none\" is supported");
  }
}

// Where an adapter says that its base is.
fs::path base_of(const fs::path& folder, const AdapterConfig& config) {
  const fs::path beside = folder / config.base;  // what is absolute stays so
  std::error_code none;                          // of names that no folder can have, too
  if (fs::is_directory(beside, none)) return beside;
  if (fs::is_directory(config.base, none)) return config.base;
  throw InputError((folder / kAdapterConfig).string() + ": is for " + config.base +
                   ", which is no folder, from there or from here");
}

}  // namespace

AdapterConfig parse_adapter_config(std::string_view json, const std::string& name) {
  const Json document = parse_json(json, name);
  const JsonReader in(document, name);
  if (in.at("peft_type").string() != "LORA") in.at("peft_type").fail("only LORA is supported");
  refuse_variants(in);
  AdapterConfig out;
  out.rank = in.at("r").integer(1, kMostRank);
  out.alpha = in.at("lora_alpha").number();
  out.base = in.at("base_model_name_or_path").string();
  if (out.base.empty()) in.at("base_model_name_or_path").fail("names no model");
  return out;
}

Json to_json(const AdapterConfig& config, const std::vector<std::string>& modules) {
  return {
      {"peft_type", "LORA"}, {"task_type", "CAUSAL_LM"},   {"base_model_name_or_path", config.base},
      {"r", config.rank},    {"lora_alpha", config.alpha}, {"lora_dropout", 0.0},
      {"bias", "none"},      {"fan_in_fan_out", false},    {"use_dora", false},
      {"use_rslora", false}, {"inference_mode", true},     {"target_modules", modules}};
}

ModelFolder find_model(const fs::path& folder) {
  ModelFolder out;
  out.base = folder;
  const fs::path file = folder / kAdapterConfig;
  if (fs::exists(file)) {
    out.adapter = folder;
    out.base = base_of(folder, parse_adapter_config(read_file(file), file.string()));
    if (fs::exists(out.base / kAdapterConfig)) {
      throw InputError(file.string() + ": is for " + out.base.string() +
                       ", which is an adapter itself");
    }
  }
  const bool own = out.adapter && fs::exists(folder / "tokenizer.json");
  out.tokenizer = (own ? folder : out.base) / "tokenizer.json";
  return out;
}

}  // namespace kw
