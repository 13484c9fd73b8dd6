// Against Hugging Face transformers: tests/vectors/models, which scripts/make_model_vectors.py
// wrote.
#include "model/transformer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "formats/error.h"
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

// One token at a time, and in pieces of any length, as all at once.
TEST_P(Parity, ACacheChangesNothing) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  const at::Tensor whole = model.logits(model.hidden(v.ids));
  const int64_t count = v.ids.size(1);
  for (int64_t step : {1, 3, 16}) {
    KvCache cache = model.make_cache(v.ids.size(0), count + 5);
    for (int64_t at = 0; at < count; at += step) {
      const int64_t end = std::min(at + step, count);
      const at::Tensor positions =
          at::arange(at, end, at::kLong).unsqueeze(0).expand({2, end - at});
      const at::Tensor logits =
          model.logits(model.hidden(v.ids.slice(1, at, end), positions, cache));
      EXPECT_LT(most(logits, whole.slice(1, at, end)), 1e-4);
    }
  }
}

TEST_P(Parity, GreedyDecodingGivesTheSameTokens) {
  const Vectors v = vectors(GetParam());
  const Transformer model(v.folder, at::kFloat);
  const int64_t total = v.greedy.size(1), prompt = 7;
  KvCache cache = model.make_cache(2, total);
  at::Tensor ids = v.greedy.slice(1, 0, prompt), all = ids;
  for (int64_t at = 0; all.size(1) < total; at = all.size(1) - 1) {
    const at::Tensor positions =
        at::arange(at, at + ids.size(1), at::kLong).unsqueeze(0).expand({2, ids.size(1)});
    const at::Tensor hidden = model.hidden(ids, positions, cache);
    ids = model.logits(hidden.slice(1, -1)).argmax(-1);
    all = at::cat({all, ids}, 1);
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

INSTANTIATE_TEST_SUITE_P(Families, Parity, testing::Values("llama", "llama3", "qwen2", "qwen3"));

}  // namespace
}  // namespace kw
