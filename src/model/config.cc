#include "model/config.h"

#include "formats/base/error.h"

namespace kw {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;  // of any size here

bool is_given(const JsonReader& in, const char* key) {
  return in.has(key) && !in.at(key).is_null();
}
int64_t size(const JsonReader& in, const char* key) { return in.at(key).integer(1, kMost); }
int64_t size(const JsonReader& in, const char* key, int64_t otherwise) {
  return is_given(in, key) ? size(in, key) : otherwise;
}
double number(const JsonReader& in, const char* key, double otherwise) {
  return is_given(in, key) ? in.at(key).number() : otherwise;
}
bool flag(const JsonReader& in, const char* key, bool otherwise) {
  return is_given(in, key) ? in.at(key).boolean() : otherwise;
}

// "rope_theta" and "rope_scaling", or, in files of transformers 5, both in "rope_parameters".
void read_rope(const JsonReader& in, ModelConfig& out) {
  const bool together = is_given(in, "rope_parameters");
  const char* key = together ? "rope_parameters" : "rope_scaling";
  out.rope_base = number(together ? in.at(key) : in, "rope_theta", out.rope_base);
  if (!is_given(in, key)) return;
  const JsonReader rope = in.at(key);
  const char* type_key = is_given(rope, "rope_type") ? "rope_type" : "type";
  const std::string& type = rope.at(type_key).string();
  if (type == "default") return;
  if (type != "llama3") rope.at(type_key).fail("only default and llama3 are supported");
  out.rope_stretch = RopeStretch{rope.at("factor").number(), rope.at("low_freq_factor").number(),
                                 rope.at("high_freq_factor").number(),
                                 size(rope, "original_max_position_embeddings")};
}

}  // namespace

ModelConfig parse_model_config(std::string_view json, const std::string& name) {
  const Json document = parse_json(json, name);
  const JsonReader in(document, name);
  ModelConfig out;
  out.type = in.at("model_type").string();
  if (out.type != "llama" && out.type != "qwen2" && out.type != "qwen3") {
    in.at("model_type").fail("only llama, qwen2 and qwen3 are supported");
  }
  if (is_given(in, "hidden_act") && in.at("hidden_act").string() != "silu") {
    in.at("hidden_act").fail("only silu is supported");
  }
  if (flag(in, "use_sliding_window", false)) {
    in.at("use_sliding_window").fail("is not supported");
  }
  out.vocabulary = size(in, "vocab_size");
  out.width = size(in, "hidden_size");
  out.layers = size(in, "num_hidden_layers");
  out.heads = size(in, "num_attention_heads");
  out.kv_heads = size(in, "num_key_value_heads", out.heads);
  if (out.heads % out.kv_heads != 0) in.at("num_key_value_heads").fail("does not divide the heads");
  if (!is_given(in, "head_dim") && out.width % out.heads != 0) {
    in.at("num_attention_heads").fail("does not divide hidden_size, and there is no head_dim");
  }
  out.head_width = size(in, "head_dim", out.type == "qwen3" ? 128 : out.width / out.heads);
  if (out.head_width % 2 != 0) in.fail("an odd head_dim has no rotary pairs");
  out.inner = size(in, "intermediate_size");
  out.context = size(in, "max_position_embeddings");
  out.norm_epsilon = number(in, "rms_norm_eps", 1e-6);
  read_rope(in, out);
  out.tied = flag(in, "tie_word_embeddings", false);
  out.qkv_bias = out.type == "qwen2" || flag(in, "attention_bias", false);
  out.output_bias = out.type != "qwen2" && flag(in, "attention_bias", false);
  out.inner_bias = out.type == "llama" && flag(in, "mlp_bias", false);
  out.qk_norm = out.type == "qwen3";
  if (is_given(in, "eos_token_id")) {
    const JsonReader end = in.at("eos_token_id");
    out.end_tokens = end.raw().is_array() ? end.integers() : std::vector{end.integer(0, kMost)};
  }
  return out;
}

int64_t ModelConfig::parameters() const {
  const int64_t queries = heads * head_width, keys = kv_heads * head_width;
  int64_t layer = width * (2 * queries + 2 * keys) + 3 * width * inner + 2 * width;
  if (qkv_bias) layer += queries + 2 * keys;
  if (output_bias) layer += width;
  if (inner_bias) layer += 2 * inner + width;
  if (qk_norm) layer += 2 * head_width;
  return vocabulary * width * (tied ? 1 : 2) + layers * layer + width;
}

Json to_json(const ModelConfig& config, const std::string& dtype) {
  const std::string architecture = config.type == "llama"   ? "LlamaForCausalLM"
                                   : config.type == "qwen2" ? "Qwen2ForCausalLM"
                                                            : "Qwen3ForCausalLM";
  Json out = {{"architectures", {architecture}},
              {"model_type", config.type},
              {"vocab_size", config.vocabulary},
              {"hidden_size", config.width},
              {"num_hidden_layers", config.layers},
              {"num_attention_heads", config.heads},
              {"num_key_value_heads", config.kv_heads},
              {"head_dim", config.head_width},
              {"intermediate_size", config.inner},
              {"max_position_embeddings", config.context},
              {"rms_norm_eps", config.norm_epsilon},
              {"rope_theta", config.rope_base},
              {"tie_word_embeddings", config.tied},
              {"hidden_act", "silu"},
              {"torch_dtype", dtype}};
  if (config.type != "qwen2") out["attention_bias"] = config.output_bias;
  if (config.type == "llama") out["mlp_bias"] = config.inner_bias;
  if (config.rope_stretch) {
    const RopeStretch& rope = *config.rope_stretch;
    out["rope_scaling"] = {{"rope_type", "llama3"},
                           {"factor", rope.factor},
                           {"low_freq_factor", rope.low_frequency_factor},
                           {"high_freq_factor", rope.high_frequency_factor},
                           {"original_max_position_embeddings", rope.original_context}};
  }
  if (config.end_tokens.size() == 1) out["eos_token_id"] = config.end_tokens[0];
  if (config.end_tokens.size() > 1) out["eos_token_id"] = config.end_tokens;
  return out;
}

}  // namespace kw
