// A model on disk: a Hugging Face folder, or the folder of an adapter (LoRA, Hu et al.,
// arXiv:2106.09685). PEFT writes such a folder (https://huggingface.co/docs/peft). It has an
// adapter_config.json, which names the model that it is for, and an adapter_model.safetensors.
// Torch-free.
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

// Parses the text of an adapter_config.json. Throws InputError, which names what is missing or not
// supported.
AdapterConfig parse_adapter_config(std::string_view json, const std::string& name);
// Returns an adapter_config.json. `modules`: the ends of the names of the weights that have
// factors, as "q_proj".
Json to_json(const AdapterConfig& config, const std::vector<std::string>& modules);

struct ModelFolder {
  std::filesystem::path base;                    // with config.json
  std::optional<std::filesystem::path> adapter;  // to that model, if one was given
  std::filesystem::path tokenizer;  // tokenizer.json: the adapter's, if it has one, or the base's
};
// Returns the parts of a model, given its folder or that of an adapter to it. A relative path to
// the base is from the adapter's folder, or else from the working directory. Throws InputError if
// there is no such folder, or if it is an adapter's again. Does not check that the base holds a
// model.
ModelFolder find_model(const std::filesystem::path& folder);
// Returns those files of a folder that are a model's or an adapter's: configuration, weights,
// tokenizer. They are ordered by name. There are none if there is no folder.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder);
// Returns a hash of all files of the model and of its adapter, which it reads. Throws
// EnvironmentError if it cannot read one.
std::string fingerprint(const ModelFolder& model);

}  // namespace kw
