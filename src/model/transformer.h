// A decoder of the Llama family on plain tensors: RMSNorm, rotary positions, grouped queries and
// SwiGLU. The configuration says whether there are biases and norms of queries and keys. Formulas
// are those of Hugging Face transformers (models/llama, qwen2, qwen3), which tests compare with.
//
// A Transformer owns its parameters, which autograd can differentiate by. Shapes: B sequences of T
// tokens, V words in the vocabulary, width D. Two threads must not use it while a cache is written.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/config.h"

namespace kw {

class Adapter;
struct ModelFolder;

// Sequences that follow one another in rows [B, T]. No sequence is in two rows, and padding is a
// sequence as well.
struct PackedSequences {
  // [sequences + 1], int32: flat index (row * T + column) of each first token, then B * T.
  at::Tensor starts;
  int64_t longest = 0;  // tokens
};

// Keys and values of the positions so far, by layer: [B, kv heads, positions, head width]. They are
// allocated for all positions at once, so that every step finds them at the same addresses.
struct KvCache {
  std::vector<at::Tensor> keys, values;
  int64_t positions() const { return keys.at(0).size(2); }
  // Returns the first `count` rows, in the same memory.
  KvCache first_rows(int64_t count) const;
};

class Transformer {
 public:
  // Draws parameters for training from scratch: normal with a deviation of 0.02, which is divided
  // by sqrt(2 layers) for those that end a residual branch (GPT-2). Norms are 1 and biases 0.
  Transformer(ModelConfig config, const at::TensorOptions& options, uint64_t seed);
  // Reads a folder with config.json and safetensors files, or an adapter's folder, whose factors
  // are added to the weights. Throws InputError if a parameter is missing, has another shape, or is
  // not the model's.
  Transformer(const std::filesystem::path& folder, const at::TensorOptions& options);
  // Copies the model to another device.
  Transformer(const Transformer& other, at::Device device);
  // Saves the model in shards of at most `shard_bytes` bytes.
  void save(const std::filesystem::path& folder, uint64_t shard_bytes) const;

  const ModelConfig& config() const { return config_; }
  // Adds a token that ends answers to those of the configuration. It is saved with them.
  void end_at(int64_t token);
  at::Device device() const { return options_.device(); }
  // Returns the parameters by their names in Hugging Face files; tied ones are in it once.
  const std::map<std::string, at::Tensor>& parameters() const { return parameters_; }

  // Returns the hidden states of tokens [B, T] after the last norm: [B, T, D]. Every token attends
  // to itself and to those before it.
  at::Tensor hidden(const at::Tensor& ids) const;
  // Returns the hidden states of rows that hold several sequences. Each token has its own position
  // ([B, T]) and attends to its own sequence alone.
  at::Tensor hidden(const at::Tensor& ids, const at::Tensor& positions,
                    const PackedSequences& sequences) const;
  // Returns the hidden states of N sequences from their beginning. They are [N, T], and shorter
  // ones are padded at their end. Writes keys and values to the rows `rows` ([N]) of the cache.
  at::Tensor prefill(const at::Tensor& ids, const at::Tensor& rows, KvCache& cache) const;
  // Returns the hidden states [B, D] of one more token for each row of the cache. `ids` and
  // `positions` are [B]. A token attends to the cached positions up to its own, which are below
  // `length`.
  at::Tensor step(const at::Tensor& ids, const at::Tensor& positions, int64_t length,
                  KvCache& cache) const;
  // Maps hidden states [.., D] to logits [.., V].
  at::Tensor logits(const at::Tensor& hidden) const;

  KvCache make_cache(int64_t batch, int64_t positions) const;
  // Returns the bytes of one row of a cache.
  int64_t cache_bytes(int64_t positions) const;

 private:
  struct Layer {
    at::Tensor input_norm, q, k, v, o, q_bias, k_bias, v_bias, o_bias, q_norm, k_norm;
    at::Tensor after_norm, gate, up, down, gate_bias, up_bias, down_bias;
  };
  struct Rotation {
    at::Tensor cos, sin;  // [B or 1, T, 1, head width]; the first half of sin is negative
  };
  struct Heads {
    at::Tensor q, k, v;
  };

  // What tokens attend to. Without mask, sequences and cache, it is the token itself and those
  // before it in its row.
  struct AttentionContext {
    at::Tensor mask;  // [B, 1, T, T] for the row, or [B, 1, 1, length] for the cache
    const PackedSequences* sequences = nullptr;
    KvCache* cache = nullptr;
    at::Tensor rows;    // the cache's rows that are prefilled; undefined: all rows make a step
    at::Tensor places;  // [B, 1, 1, 1]: the positions where a step writes keys and values
    int64_t length = 0;
    // For flash attention, by row and key head, all int32: how many keys there are
    // ([B * kv heads]), and where queries and keys of each begin (one number more).
    at::Tensor used, query_starts, key_starts;
  };

  Transformer(const ModelFolder& from, const at::TensorOptions& options);
  void adapt(const Adapter& adapter);
  template <typename Make>
  void make_parameters(const Make& make);
  Rotation rotation(const at::Tensor& positions) const;
  at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) const;
  Heads heads_of(const Layer& layer, const at::Tensor& x, const Rotation& rotation) const;
  at::Tensor attention(const Layer& layer, const at::Tensor& x, const Rotation& rotation,
                       const AttentionContext& context, size_t index) const;
  at::Tensor feed_forward(const Layer& layer, const at::Tensor& x) const;
  at::Tensor run(const at::Tensor& ids, const at::Tensor& positions,
                 const AttentionContext& context) const;

  ModelConfig config_;
  at::TensorOptions options_;
  std::map<std::string, at::Tensor> parameters_;
  std::vector<Layer> layers_;
  at::Tensor embedding_, norm_, head_;
  at::Tensor frequencies_;  // [head width / 2], float32
};

}  // namespace kw
