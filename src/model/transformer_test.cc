// Compares with Hugging Face transformers, by tests/vectors/models, which
// scripts/make_model_vectors.py wrote.
#include "model/transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "formats/base/error.h"
#include "formats/json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct Vectors {
  fs::path folder;
  at::Tensor ids, logits, greedy;
};

at::Tensor tensor_of(const Json& json, at::ScalarType type) {
  std::vector<int64_t> shape;
  for (const Json* at = &json; at->is_array(); at = &at->at(0)) {
    shape.push_back(static_cast<int64_t>(at->size()));
  }
  std::vector<double> flat;
  const std::function<void(const Json&)> walk = [&](const Json& at) {
    if (at.is_number()) return flat.push_back(at.get<double>());
    for (const Json& each : at) walk(each);
  };
  walk(json);
  return at::tensor(flat, at::kDouble).view(shape).to(type);
}

Vectors vectors(const std::string& name) {
  Vectors out;
  out.folder = fs::path(KW_SOURCE_DIR) / "tests/vectors/models" / name;
  std::ifstream in(out.folder / "vectors.json");
  const Json json = Json::parse(in);
  out.ids = tensor_of(json.at("ids"), at::kLong);
  out.logits = tensor_of(json.at("logits"), at::kFloat);
  out.greedy = tensor_of(json.at("greedy"), at::kLong);
  return out;
}

double most(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

class Parity : public testing::TestWithParam<const char*> {
 protected:
  c10::InferenceMode guard_;
};

TEST_P(Parity, LogitsAreThoseOfTransformers) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  const at::Tensor logits = model.logits(model.hidden(v.ids));
  EXPECT_LT(most(logits, v.logits), 1e-4 * v.logits.abs().max().item<double>());
}

// A prefill of any length, followed by one token at a time, gives what all tokens at once give.
// Rows may have any order.
TEST_P(Parity, ACacheChangesNothing) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  const at::Tensor whole = model.logits(model.hidden(v.ids));
  const int64_t count = v.ids.size(1);
  const std::vector<int64_t> begun = {4, 7};
  KvCache cache = model.make_cache(2, count + 5);
  for (int64_t row : {1, 0}) {
    const at::Tensor ids = at::zeros({1, 9}, at::kLong);  // filled up with anything
    ids.slice(1, 0, begun[row]).copy_(v.ids[row].slice(0, 0, begun[row]));
    const at::Tensor logits = model.logits(model.prefill(ids, at::tensor({row}, at::kLong), cache));
    EXPECT_LT(most(logits[0].slice(0, 0, begun[row]), whole[row].slice(0, 0, begun[row])), 1e-4);
  }
  for (int64_t k = 0; begun[1] + k < count; ++k) {
    const at::Tensor positions = at::tensor(begun, at::kLong) + k;
    const at::Tensor ids = v.ids.gather(1, positions.unsqueeze(1)).squeeze(1);
    const at::Tensor logits = model.logits(model.step(ids, positions, count, cache));
    for (int64_t row : {0, 1}) EXPECT_LT(most(logits[row], whole[row][begun[row] + k]), 1e-4);
  }
}

// Two sequences in one row do not attend to each other.
TEST_P(Parity, PackedTextsAreApart) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  const int64_t a = 5, b = v.ids.size(1);
  const at::Tensor ids = at::cat({v.ids[0].slice(0, 0, a), v.ids[1]}).unsqueeze(0);
  const at::Tensor positions = at::cat({at::arange(a), at::arange(b)}).unsqueeze(0);
  const at::Tensor starts = at::tensor({int64_t{0}, a, a + b}, at::kInt);
  const at::Tensor packed = model.hidden(ids, positions, {starts, b})[0];
  const at::Tensor apart = model.hidden(v.ids);
  EXPECT_LT(most(packed.slice(0, 0, a), apart[0].slice(0, 0, a)), 1e-5);
  EXPECT_LT(most(packed.slice(0, a), apart[1]), 1e-5);
}

TEST_P(Parity, GreedyDecodingGivesTheSameTokens) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  const int64_t total = v.greedy.size(1), prompt = 7;
  KvCache cache = model.make_cache(2, total);
  at::Tensor all = v.greedy.slice(1, 0, prompt);
  at::Tensor hidden = model.prefill(all, at::arange(2), cache).select(1, prompt - 1);
  for (int64_t at = prompt; at < total; ++at) {
    const at::Tensor ids = model.logits(hidden).argmax(-1);
    all = at::cat({all, ids.unsqueeze(1)}, 1);
    hidden = model.step(ids, at::full({2}, at, at::kLong), total, cache);
  }
  EXPECT_TRUE(at::equal(all, v.greedy)) << all << v.greedy;
}

TEST_P(Parity, WhatIsSavedIsReadAgain) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  const fs::path folder = fs::path(testing::TempDir()) / (std::string("kw-model-") + GetParam());
  for (uint64_t shard : {uint64_t{20000}, uint64_t{1} << 30}) {
    fs::remove_all(folder);
    model.save(folder, shard);
    const Transformer again(folder, at::kFloat);
    EXPECT_EQ(again.config().parameters(), model.config().parameters());
    EXPECT_TRUE(at::equal(model.hidden(v.ids), again.hidden(v.ids)));
  }
  fs::remove_all(folder);
}

TEST_P(Parity, ParametersAreCounted) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  int64_t count = 0;
  for (const auto& [name, parameter] : model.parameters()) count += parameter.numel();
  EXPECT_EQ(count, model.config().parameters());
}

#ifdef KW_WITH_CUDA
// On a GPU in bfloat16, packed sequences use flash attention, forward and backward. Apart from
// rounding, they give what separate sequences give, and what the same parameters give in float32 on
// the CPU.
TEST_P(Parity, PackedTextsOfAGpu) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  const c10::InferenceMode off(false);
  const Vectors v = vectors(GetParam());
  const int64_t a = 5, b = v.ids.size(1);
  const at::Tensor ids = at::cat({v.ids[0].slice(0, 0, a), v.ids[1]}).unsqueeze(0);
  const at::Tensor positions = at::cat({at::arange(a), at::arange(b)}).unsqueeze(0);
  const at::Tensor starts = at::tensor({int64_t{0}, a, a + b}, at::kInt);
  const auto loss_and_gradient = [&](const at::TensorOptions& options) {
    const Transformer model(v.folder, options);
    const at::Device device = options.device();
    const at::Tensor q = model.parameters().at("model.layers.0.self_attn.q_proj.weight");
    q.requires_grad_(true);
    const at::Tensor hidden =
        model.hidden(ids.to(device), positions.to(device), {starts.to(device), b});
    const at::Tensor loss = model.logits(hidden).to(at::kFloat).square().mean();
    loss.backward();
    return std::pair(loss.item<double>(), q.grad().to(at::kFloat).cpu());
  };
  const auto [exact, gradient] = loss_and_gradient(at::kFloat);
  const auto [loss, rounded] =
      loss_and_gradient(at::TensorOptions(at::kBFloat16).device(at::kCUDA));
  EXPECT_NEAR(loss, exact, 0.03 * exact);
  EXPECT_LT((rounded - gradient).norm().item<double>(), 0.1 * gradient.norm().item<double>());
}

// Steps use flash attention too. The rows have different lengths in a cache that holds numbers
// after their ends. Steps are about as far from float32 as all tokens at once.
TEST_P(Parity, StepsOfAGpu) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  const Vectors v = vectors(GetParam());
  const at::Tensor exact = Transformer(v.folder, at::kFloat).hidden(v.ids);
  const Transformer model(v.folder, at::TensorOptions(at::kBFloat16).device(at::kCUDA));
  const at::Tensor whole_pass = model.hidden(v.ids.cuda()).to(at::kFloat).cpu();
  const int64_t count = v.ids.size(1);
  KvCache whole = model.make_cache(3, count + 70);
  for (auto* list : {&whole.keys, &whole.values}) {
    for (at::Tensor& each : *list) each.fill_(100);
  }
  KvCache cache = whole.first_rows(2);
  const at::Tensor ids = v.ids.cuda();
  model.prefill(ids.slice(1, 0, 7), at::arange(2).cuda(), cache);
  const at::Tensor begun = at::tensor({int64_t{4}, int64_t{7}}, at::kLong);
  double rounding = 0, error = 0;
  for (int64_t k = 0; 7 + k < count; ++k) {
    const at::Tensor positions = begun + k;
    const at::Tensor at = positions.unsqueeze(1);
    const at::Tensor found =
        model.step(v.ids.gather(1, at).squeeze(1).cuda(), positions.cuda(), count + 3, cache)
            .to(at::kFloat)
            .cpu();
    const auto there = [&](const at::Tensor& all) {
      return all.gather(1, at.unsqueeze(2).expand({-1, -1, all.size(2)})).squeeze(1);
    };
    error += (found - there(exact)).square().sum().item<double>();
    rounding += (there(whole_pass) - there(exact)).square().sum().item<double>();
  }
  EXPECT_LT(std::sqrt(error), 2 * std::sqrt(rounding));
}

// If one row has thousands of positions and another has few, keys are divided among many blocks.
// The result is that of products with a mask on the CPU. Values rise along a row, so that each part
// of it counts.
TEST(LongSteps, OfAGpu) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  const c10::InferenceMode guard;
  ModelConfig config;
  config.type = "qwen3";
  config.vocabulary = 64, config.width = 384, config.layers = 1, config.heads = 6;
  config.kv_heads = 2, config.head_width = 64, config.inner = 64, config.context = 4096;
  config.tied = true;
  const Transformer here(config, at::TensorOptions(at::kBFloat16), 5);
  const Transformer there(here, at::Device(at::kCUDA, 0));
  const at::Tensor ids = at::tensor({int64_t{7}, int64_t{8}, int64_t{9}}, at::kLong);
  const at::Tensor positions = at::tensor({int64_t{3}, int64_t{3900}, int64_t{1000}}, at::kLong);
  KvCache cache = here.make_cache(3, 4096), cuda = there.make_cache(3, 4096);
  const at::Tensor at = at::arange(4096).view({1, 1, -1, 1});
  const at::Tensor seen = at < positions.view({-1, 1, 1, 1});
  const at::Tensor values = at::where(seen, at.to(at::kFloat) / 2000, 100.0);
  cache.keys[0].copy_(at::randn({3, 2, 4096, 64}).mul_(0.1));
  cache.values[0].copy_(values.expand({3, 2, 4096, 64}));
  cuda.keys[0].copy_(cache.keys[0]);
  cuda.values[0].copy_(cache.values[0]);
  const at::Tensor wanted = here.step(ids, positions, 4096, cache).to(at::kFloat);
  const at::Tensor found =
      there.step(ids.cuda(), positions.cuda(), 4096, cuda).to(at::kFloat).cpu();
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_LT((found[row] - wanted[row]).norm().item<double>(),
              0.03 * wanted[row].norm().item<double>())
        << row;
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Families, Parity,
                         testing::Values("llama", "llama3", "qwen2", "qwen3", "qwen2_lora",
                                         "qwen3_lora"));

}  // namespace
}  // namespace kw
