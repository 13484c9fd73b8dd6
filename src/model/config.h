// The shape of a decoder, as in the config.json of a Hugging Face folder: Llama (2 and 3), Qwen2
// and Qwen3. Does not use torch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace kw {

// How Llama 3.1 stretches rotary frequencies ("rope_type": "llama3").
struct RopeStretch {
  double factor = 1, low_frequency_factor = 1, high_frequency_factor = 4;
  int64_t original_context = 8192;
};

struct ModelConfig {
  std::string type = "qwen3";  // "llama", "qwen2", "qwen3"
  int64_t vocabulary = 0;
  int64_t width = 0;  // of the residual stream
  int64_t layers = 0;
  int64_t heads = 0;     // of queries
  int64_t kv_heads = 0;  // divides `heads`
  int64_t head_width = 0;
  int64_t inner = 0;    // of the feed-forward part
  int64_t context = 0;  // positions
  double norm_epsilon = 1e-6;
  double rope_base = 10000;
  std::optional<RopeStretch> rope_stretch;
  bool tied = false;         // the output matrix is the embedding
  bool qkv_bias = false;     // Qwen2
  bool output_bias = false;  // of attention's output; Llama's attention_bias sets it and qkv_bias
  bool inner_bias = false;   // of the feed-forward part
  bool qk_norm = false;      // Qwen3
  std::vector<int64_t> end_tokens;

  // Returns the number of parameters; tied ones count once.
  int64_t parameters() const;
};

// Parses the text of a config.json. Throws InputError that names what is missing or not supported.
ModelConfig parse_model_config(std::string_view json, const std::string& name);
Json to_json(const ModelConfig& config, const std::string& dtype);  // "bfloat16"

}  // namespace kw
