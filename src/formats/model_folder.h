// A model on disk: a Hugging Face folder, or the folder of an adapter (LoRA, Hu et al.,
// arXiv:2106.09685) as PEFT writes it (https://huggingface.co/docs/peft, adapter_config.json and
// adapter_model.safetensors), which names the model that it is for. Torch-free.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace kw {

inline constexpr char kAdapterConfig[] = "adapter_config.json";
inline constexpr char kAdapterWeights[] = "adapter_model.safetensors";

// A weight W [out, in] becomes W + scale() B A, with A [rank, in] and B [out, rank].
struct AdapterConfig {
  int64_t rank = 16;
  double alpha = 32;
  std::string base;  // base_model_name_or_path

  double scale() const { return alpha / static_cast<double>(rank); }
};

// The text of an adapter_config.json. InputError names what is missing or not supported.
AdapterConfig parse_adapter_config(std::string_view json, const std::string& name);
// `modules`: ends of the names of what has factors, "q_proj".
Json to_json(const AdapterConfig& config, const std::vector<std::string>& modules);

struct ModelFolder {
  std::filesystem::path base;                    // with config.json
  std::optional<std::filesystem::path> adapter;  // to it
  std::filesystem::path tokenizer;               // tokenizer.json: the adapter's own, if it has one
};
// Follows an adapter to what it is for: a relative path is from the adapter's folder, or else from
// the working directory. InputError where there is none, or an adapter again. Whether the base has
// a model is not looked at.
ModelFolder find_model(const std::filesystem::path& folder);
// A folder's files that are a model's or an adapter's: configuration, weights, tokenizer. In the
// order of their names; none where there is no folder.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder);
// Changes with any byte of the model's files: configuration, weights, tokenizer, and the adapter's.
// Reads all of them. EnvironmentError where one cannot be read.
std::string fingerprint(const ModelFolder& model);

}  // namespace kw
