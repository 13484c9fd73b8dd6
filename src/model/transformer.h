// A decoder of the Llama family on plain tensors: RMSNorm, rotary positions, grouped queries,
// SwiGLU; biases and norms of queries and keys as its configuration says. Formulas are those of
// Hugging Face transformers (models/llama, qwen2, qwen3), which tests compare with.
//
// Owns its parameters, which autograd may be asked about. Shapes: B sequences of T tokens, V words,
// D wide. Not for use by two threads at once while a cache is written.
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

// Texts that lie behind one another in rows [B, T], none in two rows; filling is a text as well.
struct Texts {
  at::Tensor starts;    // [texts + 1], int32: places of first tokens through all rows, then B * T
  int64_t longest = 0;  // tokens
};

// Keys and values of positions so far, by layer: [B, kv heads, positions, head width]. Made for so
// many positions at once, so that every step finds them at the same addresses.
struct KvCache {
  std::vector<at::Tensor> keys, values;
  int64_t positions() const { return keys.at(0).size(2); }
  // The same memory, of its first `count` rows alone.
  KvCache first_rows(int64_t count) const;
};

class Transformer {
 public:
  // Parameters as for training from nothing: normal with a deviation of 0.02, those that end a
  // residual branch divided by sqrt(2 layers) (GPT-2); norms 1, biases 0.
  Transformer(ModelConfig config, const at::TensorOptions& options, uint64_t seed);
  // From a folder with config.json and safetensors files, or an adapter's, whose factors go into
  // the weights. InputError where a parameter is missing, has another shape, or is one too many.
  Transformer(const std::filesystem::path& folder, const at::TensorOptions& options);
  // A copy on another device.
  Transformer(const Transformer& other, at::Device device);
  // In shards of at most so many bytes.
  void save(const std::filesystem::path& folder, uint64_t shard_bytes) const;

  const ModelConfig& config() const { return config_; }
  // This token ends answers too, besides those that the configuration names; saved with it.
  void end_at(int64_t token);
  at::Device device() const { return options_.device(); }
  // By their names in Hugging Face files; tied ones once.
  const std::map<std::string, at::Tensor>& parameters() const { return parameters_; }

  // What each token of [B, T] leaves at the end: [B, T, D], after the last norm. Every token sees
  // itself and those before it.
  at::Tensor hidden(const at::Tensor& ids) const;
  // The same of rows that hold several texts: each token at its own position ([B, T]), and seeing
  // its own text alone.
  at::Tensor hidden(const at::Tensor& ids, const at::Tensor& positions, const Texts& texts) const;
  // The same of N texts from their beginning ([N, T], shorter ones filled up behind their end);
  // keys and values are put into the cache's rows `rows` ([N]).
  at::Tensor prefill(const at::Tensor& ids, const at::Tensor& rows, KvCache& cache) const;
  // One token more for each row of the cache: tokens and their positions, [B], to [B, D]. A token
  // sees the cached positions up to its own, which are below `length`.
  at::Tensor step(const at::Tensor& ids, const at::Tensor& positions, int64_t length,
                  KvCache& cache) const;
  // [.., D] to [.., V].
  at::Tensor logits(const at::Tensor& hidden) const;

  KvCache make_cache(int64_t batch, int64_t positions) const;
  int64_t cache_bytes(int64_t positions) const;  // of one row

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

  // What tokens see. With neither mask nor cache: themselves and those before them in their row.
  struct Sight {
    at::Tensor mask;  // [B, 1, T, T] of the row, or [B, 1, 1, length] of the cache
    const Texts* texts = nullptr;
    KvCache* cache = nullptr;
    at::Tensor rows;    // of the cache, that are begun; undefined: all of them go on
    at::Tensor places;  // [B, 1, 1, 1]: where those that go on put theirs
    int64_t length = 0;
    // For flash attention, by row and key head: how many keys there are ([B * kv heads]), and where
    // queries and keys of each begin (one number more); all int32.
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
                       const Sight& sight, size_t index) const;
  at::Tensor feed_forward(const Layer& layer, const at::Tensor& x) const;
  at::Tensor run(const at::Tensor& ids, const at::Tensor& positions, const Sight& sight) const;

  ModelConfig config_;
  at::TensorOptions options_;
  std::map<std::string, at::Tensor> parameters_;
  std::vector<Layer> layers_;
  at::Tensor embedding_, norm_, head_;
  at::Tensor frequencies_;  // [head width / 2], float32
};

}  // namespace kw
