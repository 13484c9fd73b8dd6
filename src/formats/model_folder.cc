#include "formats/model_folder.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"

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
  // Other ways to begin are written down for good: these put what they take from the base into it.
  if (in.has("init_lora_weights") && in.at("init_lora_weights").raw().is_string()) {
    const std::string begun = in.at("init_lora_weights").string();
    if (begun != "gaussian" && begun != "eva" && begun != "orthogonal") {
      in.at("init_lora_weights").fail("is not supported: the base would be another one");
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

// Returns the folder of an adapter's base. Throws InputError if it is not where the adapter says.
fs::path base_of(const fs::path& folder, const AdapterConfig& config) {
  const fs::path beside = folder / config.base;  // config.base itself if it is absolute
  std::error_code none;                          // so that no name throws
  if (fs::is_directory(beside, none)) return beside;
  if (fs::is_directory(config.base, none)) return config.base;
  throw InputError((folder / kAdapterConfig).string() + ": is for " + config.base +
                   ", which is no folder, from there or from here");
}

// The hash of a file, through those of its parts, so that shards of gigabytes are never held.
std::string hash_of(const fs::path& path) {
  check_in_file(path);
  std::ifstream in(path, std::ios::binary);
  std::string part(8 << 20, '\0'), hashes;
  do {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    hashes += sha256_hex(std::string_view(part).substr(0, static_cast<size_t>(in.gcount())));
  } while (in);
  if (!in.eof()) throw EnvironmentError(path.string() + ": cannot be read");
  return sha256_hex(hashes);
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

std::vector<fs::path> model_files(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (name == "config.json" || name == kAdapterConfig || name == "tokenizer.json" ||
        name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) {
      out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

std::string fingerprint(const ModelFolder& model) {
  std::vector<fs::path> files = model_files(model.base);
  if (model.adapter) std::ranges::copy(model_files(*model.adapter), std::back_inserter(files));
  std::string out;
  for (const fs::path& file : files) out += file.filename().string() + " " + hash_of(file) + "\n";
  return sha256_hex(out);
}

}  // namespace kw
