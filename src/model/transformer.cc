#include "model/transformer.h"

#ifdef KW_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <numbers>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/model_folder.h"
#include "formats/safetensors.h"
#include "model/adapter.h"
#include "model/stored.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Returns rotary frequencies. Llama 3.1 keeps the fast ones, divides the slow ones by a factor, and
// interpolates between two wavelengths.
at::Tensor frequencies_of(const ModelConfig& config) {
  const int64_t pairs = config.head_width / 2;
  std::vector<float> out;
  for (int64_t i = 0; i < pairs; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.head_width);
    double frequency = std::pow(config.rope_base, -exponent);
    if (config.rope_stretch) {
      const RopeStretch& rope = *config.rope_stretch;
      const double turns =
          static_cast<double>(rope.original_context) * frequency / (2 * std::numbers::pi);
      const double share = (turns - rope.low_frequency_factor) /
                           (rope.high_frequency_factor - rope.low_frequency_factor);
      const double kept = std::clamp(share, 0.0, 1.0);
      frequency = (1 - kept) * frequency / rope.factor + kept * frequency;
    }
    out.push_back(static_cast<float>(frequency));
  }
  return at::tensor(out);
}

// Joins several matrices, so that one product replaces several. Returns an undefined tensor if the
// parts are undefined.
at::Tensor together(const std::vector<at::Tensor>& parts) {
  return parts[0].defined() ? at::cat(parts) : at::Tensor();
}

// Returns whether flash attention has kernels for these options, on Ampere and later. PyTorch's are
// those of Dao, arXiv:2307.08691.
bool has_flash([[maybe_unused]] const at::TensorOptions& options,
               [[maybe_unused]] int64_t head_width) {
#ifdef KW_WITH_CUDA
  const auto type = at::typeMetaToScalarType(options.dtype());
  if (!options.device().is_cuda() || (type != at::kBFloat16 && type != at::kHalf)) return false;
  int capability = 0;
  const int index = std::max<int>(0, options.device().index());
  const auto status = cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, index);
  return status == cudaSuccess && capability >= 8 && head_width % 8 == 0 && head_width <= 256;
#else
  return false;
#endif
}

// Returns attention [B, heads, T, width] within each sequence. Time grows with the squares of their
// lengths, and not with that of T.
at::Tensor attended_sequences(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const PackedSequences& sequences) {
  const auto flat = [](const at::Tensor& x) { return x.transpose(1, 2).flatten(0, 1); };
  const at::Tensor out = std::get<0>(at::_flash_attention_forward(
      flat(q), flat(k), flat(v), sequences.starts, sequences.starts, sequences.longest,
      sequences.longest,
      /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false));
  return out.view({q.size(0), q.size(2), q.size(1), q.size(3)}).transpose(1, 2);
}

// Returns a mask [B, 1, T, T] in which tokens attend to their own sequence alone.
at::Tensor mask_of(const PackedSequences& sequences, at::IntArrayRef shape) {
  const at::Tensor& starts = sequences.starts;
  at::Tensor number = at::zeros({shape[0] * shape[1]}, starts.options().dtype(at::kLong));
  number.index_fill_(0, starts.slice(0, 0, -1).to(at::kLong), 1);
  number = number.cumsum(0).view(shape);
  return (number.unsqueeze(2) == number.unsqueeze(1)).tril().unsqueeze(1);
}

// Returns attention [B, heads, 1, width] of one query for each row to all keys so far. Queries that
// share keys are computed together. It uses plain products, as no fused kernel for so few queries
// takes a mask.
at::Tensor attended_one(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const at::Tensor& mask) {
  const auto grouped = q.view({q.size(0), k.size(1), -1, q.size(3)});
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor scores = at::matmul(grouped, k.transpose(-1, -2)).to(at::kFloat) * scale;
  const at::Tensor shares = at::softmax(
      scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity()), -1);
  return at::matmul(shares.to(v.scalar_type()), v).view(q.sizes());
}

// Returns the same by flash attention, on a whole cache [B, kv heads, positions, width]. Each key
// head of a row is a separate sequence, so it reads the keys of each row and not as many as the
// longest row has.
at::Tensor attended_one(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const at::Tensor& used, const at::Tensor& query_starts,
                        const at::Tensor& key_starts, int64_t length) {
  const int64_t width = q.size(3);
  const auto one_head = [&](const at::Tensor& cached) { return cached.view({-1, 1, width}); };
  const at::Tensor out = std::get<0>(at::_flash_attention_forward(
      q.reshape({used.size(0), -1, width}), one_head(k), one_head(v), query_starts, key_starts,
      /*max_q=*/1, /*max_k=*/length, /*dropout_p=*/0.0, /*is_causal=*/false,
      /*return_debug_mask=*/false, /*scale=*/std::nullopt, /*window_size_left=*/std::nullopt,
      /*window_size_right=*/std::nullopt, used));
  return out.view(q.sizes());
}

}  // namespace

// Calls make(name, shape) for each parameter of the configuration.
template <typename Make>
void Transformer::make_parameters(const Make& make) {
  const ModelConfig& c = config_;
  const int64_t queries = c.heads * c.head_width, keys = c.kv_heads * c.head_width;
  const auto add = [&](at::Tensor& slot, const std::string& name, at::IntArrayRef shape,
                       bool wanted = true) {
    if (!wanted) return;
    slot = make(name, shape);
    parameters_[name] = slot;
  };
  add(embedding_, "model.embed_tokens.weight", {c.vocabulary, c.width});
  layers_.resize(static_cast<size_t>(c.layers));
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& l = layers_[i];
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const std::string attention = layer + "self_attn.", inner = layer + "mlp.";
    add(l.input_norm, layer + "input_layernorm.weight", {c.width});
    add(l.q, attention + "q_proj.weight", {queries, c.width});
    add(l.k, attention + "k_proj.weight", {keys, c.width});
    add(l.v, attention + "v_proj.weight", {keys, c.width});
    add(l.o, attention + "o_proj.weight", {c.width, queries});
    add(l.q_bias, attention + "q_proj.bias", {queries}, c.qkv_bias);
    add(l.k_bias, attention + "k_proj.bias", {keys}, c.qkv_bias);
    add(l.v_bias, attention + "v_proj.bias", {keys}, c.qkv_bias);
    add(l.o_bias, attention + "o_proj.bias", {c.width}, c.output_bias);
    add(l.q_norm, attention + "q_norm.weight", {c.head_width}, c.qk_norm);
    add(l.k_norm, attention + "k_norm.weight", {c.head_width}, c.qk_norm);
    add(l.after_norm, layer + "post_attention_layernorm.weight", {c.width});
    add(l.gate, inner + "gate_proj.weight", {c.inner, c.width});
    add(l.up, inner + "up_proj.weight", {c.inner, c.width});
    add(l.down, inner + "down_proj.weight", {c.width, c.inner});
    add(l.gate_bias, inner + "gate_proj.bias", {c.inner}, c.inner_bias);
    add(l.up_bias, inner + "up_proj.bias", {c.inner}, c.inner_bias);
    add(l.down_bias, inner + "down_proj.bias", {c.width}, c.inner_bias);
  }
  add(norm_, "model.norm.weight", {c.width});
  add(head_, "lm_head.weight", {c.vocabulary, c.width}, !c.tied);
  if (c.tied) head_ = embedding_;
  frequencies_ = frequencies_of(c).to(options_.device());
}

Transformer::Transformer(ModelConfig config, const at::TensorOptions& options, uint64_t seed)
    : config_(std::move(config)), options_(options) {
  // Draws on the CPU, so that a seed means the same on every device.
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const double last = 0.02 / std::sqrt(2.0 * static_cast<double>(config_.layers));
  make_parameters([&](const std::string& name, at::IntArrayRef shape) {
    at::Tensor made = at::empty(shape, at::kFloat);
    const auto ends = [&](const char* end) { return name.ends_with(end); };
    if (ends("norm.weight")) {
      made.fill_(1);
    } else if (ends(".bias")) {
      made.fill_(0);
    } else {
      made.normal_(0, ends("o_proj.weight") || ends("down_proj.weight") ? last : 0.02, generator);
    }
    return made.to(options_);
  });
}

Transformer::Transformer(const fs::path& folder, const at::TensorOptions& options)
    : Transformer(find_model(folder), options) {}

Transformer::Transformer(const ModelFolder& from, const at::TensorOptions& options)
    : options_(options) {
  const fs::path& folder = from.base;
  const fs::path config = folder / "config.json";
  config_ = parse_model_config(read_file(config), config.string());
  const Checkpoint checkpoint(folder);
  make_parameters([&](const std::string& name, at::IntArrayRef shape) {
    const Checkpoint::Found found = checkpoint.at(name);
    const at::Tensor stored = stored_view(found.tensor, found.bytes, name);
    if (stored.sizes() != shape) {
      throw InputError(folder.string() + ": " + name + " is " + shape_text(stored.sizes()) +
                       ", and " + shape_text(shape) + " by config.json");
    }
    at::Tensor parameter = stored.to(options_, /*non_blocking=*/false, /*copy=*/true);
    check_finite(parameter, folder.string() + ": " + name);
    return parameter;
  });
  for (const std::string& name : checkpoint.names()) {
    const bool tied = config_.tied && name == "lm_head.weight";
    if (!tied && !parameters_.contains(name) && !name.ends_with("rotary_emb.inv_freq")) {
      throw InputError(folder.string() + ": has " + name + ", which a " + config_.type +
                       " of this configuration has not");
    }
  }
  if (from.adapter) adapt(Adapter(parameters_, *from.adapter));
}

void Transformer::adapt(const Adapter& adapter) {
  const at::NoGradGuard guard;
  for (const auto& [name, factors] : adapter.factors()) {
    at::Tensor& weight = parameters_.at(name);
    weight.copy_(adapter.adapted(name, weight));
  }
}

Transformer::Transformer(const Transformer& other, at::Device device)
    : config_(other.config_), options_(other.options_.device(device)) {
  make_parameters([&](const std::string& name, at::IntArrayRef) {
    return other.parameters_.at(name).detach().to(options_, /*non_blocking=*/false, /*copy=*/true);
  });
}

void Transformer::end_at(int64_t token) {
  auto& ends = config_.end_tokens;
  if (std::ranges::find(ends, token) == ends.end()) ends.push_back(token);
}

void Transformer::save(const fs::path& folder, uint64_t shard_bytes) const {
  fs::create_directories(folder);
  TensorsToStore tensors;
  for (const auto& [name, parameter] : parameters_) tensors.add(name, parameter);
  write_checkpoint(folder, tensors.list(), shard_bytes, {{"format", "pt"}});
  const std::string dtype =
      at::typeMetaToScalarType(options_.dtype()) == at::kBFloat16 ? "bfloat16" : "float32";
  std::ofstream out(folder / "config.json", std::ios::trunc);
  if (!(out << to_json(config_, dtype).dump(2) << "\n").flush()) {
    throw EnvironmentError((folder / "config.json").string() + ": cannot be written");
  }
}

KvCache KvCache::first_rows(int64_t count) const {
  KvCache out;
  for (const at::Tensor& each : keys) out.keys.push_back(each.narrow(0, 0, count));
  for (const at::Tensor& each : values) out.values.push_back(each.narrow(0, 0, count));
  return out;
}

KvCache Transformer::make_cache(int64_t batch, int64_t positions) const {
  KvCache out;
  for (int64_t i = 0; i < config_.layers; ++i) {
    for (auto* list : {&out.keys, &out.values}) {
      list->push_back(
          at::zeros({batch, config_.kv_heads, positions, config_.head_width}, options_));
    }
  }
  return out;
}

int64_t Transformer::cache_bytes(int64_t positions) const {
  return 2 * config_.layers * config_.kv_heads * positions * config_.head_width *
         static_cast<int64_t>(options_.dtype().itemsize());
}

Transformer::Rotation Transformer::rotation(const at::Tensor& positions) const {
  const at::Tensor angles = positions.to(at::kFloat).unsqueeze(-1) * frequencies_;
  const at::Tensor cos = angles.cos(), sin = angles.sin();
  return {at::cat({cos, cos}, -1).unsqueeze(2).to(options_),
          at::cat({-sin, sin}, -1).unsqueeze(2).to(options_)};
}

// x / sqrt(mean(x^2) + epsilon), times the weight (Zhang and Sennrich, arXiv:1910.07467).
at::Tensor Transformer::normed(const at::Tensor& x, const at::Tensor& weight) const {
  return at::rms_norm(x, {x.size(-1)}, weight, config_.norm_epsilon);
}

// Returns queries, keys and values of x, each [B, heads, T, width]. Queries and keys are normed and
// rotated.
Transformer::Heads Transformer::heads_of(const Layer& layer, const at::Tensor& x,
                                         const Rotation& rotation) const {
  const int64_t queries = config_.heads, keys = config_.kv_heads;
  const at::Tensor all = at::linear(x, together({layer.q, layer.k, layer.v}),
                                    together({layer.q_bias, layer.k_bias, layer.v_bias}))
                             .view({x.size(0), x.size(1), queries + 2 * keys, config_.head_width});
  at::Tensor both = all.narrow(2, 0, queries + keys);
  if (config_.qk_norm) {
    const at::Tensor weight =
        at::cat({layer.q_norm.expand({queries, -1}), layer.k_norm.expand({keys, -1})});
    both = at::rms_norm(both, {config_.head_width}, {}, config_.norm_epsilon) * weight;
  }
  // x1 and x2 are halves of the width: (x1, x2) becomes (x1 cos - x2 sin, x2 cos + x1 sin).
  both = at::addcmul(both * rotation.cos, both.roll(config_.head_width / 2, -1), rotation.sin);
  return {both.narrow(2, 0, queries).transpose(1, 2), both.narrow(2, queries, keys).transpose(1, 2),
          all.narrow(2, queries + keys, keys).transpose(1, 2)};
}

at::Tensor Transformer::attention(const Layer& layer, const at::Tensor& x, const Rotation& rotation,
                                  const AttentionContext& context, size_t index) const {
  const auto [q, k, v] = heads_of(layer, x, rotation);
  at::Tensor out;
  if (context.cache && !context.rows.defined()) {
    at::Tensor &keys = context.cache->keys[index], &values = context.cache->values[index];
    const at::Tensor places = context.places.expand(k.sizes());
    keys.scatter_(2, places, k);
    values.scatter_(2, places, v);
    out = context.used.defined() ? attended_one(q, keys, values, context.used, context.query_starts,
                                                context.key_starts, context.length)
                                 : attended_one(q, keys.narrow(2, 0, context.length),
                                                values.narrow(2, 0, context.length), context.mask);
  } else {
    if (context.cache) {
      context.cache->keys[index].narrow(2, 0, k.size(2)).index_copy_(0, context.rows, k);
      context.cache->values[index].narrow(2, 0, v.size(2)).index_copy_(0, context.rows, v);
    }
    const bool masked = context.mask.defined();
    out = context.sequences ? attended_sequences(q, k, v, *context.sequences)
                            : at::scaled_dot_product_attention(
                                  q, k, v, masked ? std::optional(context.mask) : std::nullopt,
                                  /*dropout_p=*/0.0, /*is_causal=*/!masked, /*scale=*/std::nullopt,
                                  /*enable_gqa=*/config_.heads != config_.kv_heads);
  }
  const at::Tensor joined = out.transpose(1, 2).reshape({x.size(0), x.size(1), -1});
  return at::linear(joined, layer.o, layer.o_bias);
}

at::Tensor Transformer::feed_forward(const Layer& layer, const at::Tensor& x) const {
  const auto both =
      at::linear(x, together({layer.gate, layer.up}), together({layer.gate_bias, layer.up_bias}))
          .chunk(2, -1);
  return at::linear(at::silu(both[0]) * both[1], layer.down, layer.down_bias);
}

at::Tensor Transformer::run(const at::Tensor& ids, const at::Tensor& positions,
                            const AttentionContext& context) const {
  const Rotation turns = rotation(positions);
  at::Tensor x = at::embedding(embedding_, ids);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    x = x + attention(layer, normed(x, layer.input_norm), turns, context, i);
    x = x + feed_forward(layer, normed(x, layer.after_norm));
  }
  return normed(x, norm_);
}

at::Tensor Transformer::hidden(const at::Tensor& ids) const {
  return run(ids, at::arange(ids.size(1), ids.options()).unsqueeze(0), {});
}

at::Tensor Transformer::hidden(const at::Tensor& ids, const at::Tensor& positions,
                               const PackedSequences& sequences) const {
  AttentionContext context;
  if (has_flash(options_, config_.head_width)) {
    context.sequences = &sequences;
  } else {
    context.mask = mask_of(sequences, ids.sizes());
  }
  return run(ids, positions, context);
}

at::Tensor Transformer::prefill(const at::Tensor& ids, const at::Tensor& rows,
                                KvCache& cache) const {
  AttentionContext context;
  context.cache = &cache;
  context.rows = rows;
  return run(ids, at::arange(ids.size(1), ids.options()).unsqueeze(0), context);
}

at::Tensor Transformer::step(const at::Tensor& ids, const at::Tensor& positions, int64_t length,
                             KvCache& cache) const {
  AttentionContext context;
  context.cache = &cache;
  context.length = length;
  context.places = positions.view({-1, 1, 1, 1});
  if (has_flash(options_, config_.head_width)) {
    // For one row, flatten() alone would return a view that repeats one number.
    context.used = (positions + 1)
                       .to(at::kInt)
                       .unsqueeze(1)
                       .expand({-1, config_.kv_heads})
                       .flatten()
                       .contiguous();
    context.query_starts = at::arange(context.used.size(0) + 1, context.used.options());
    context.key_starts = context.query_starts * cache.positions();
  } else {
    context.mask = at::arange(length, positions.options()).view({1, 1, 1, -1}) <= context.places;
  }
  return run(ids.unsqueeze(1), positions.unsqueeze(1), context).squeeze(1);
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const { return at::linear(hidden, head_); }

}  // namespace kw
