// Adapters that learn: gradients against autograd on W + s B A written out, what is kept against
// what is used.
#include "train/step/lora.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"
#include "formats/safetensors.h"
#include "model/stored.h"
#include "train/run/test_run.h"
#include "train/step/sft_step.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

constexpr char kDown[] = "model.layers.1.mlp.down_proj.weight";

class LoraTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "kw-lora";
    fs::remove_all(root_);
    tiny_model(40).save(root_ / "base", 1 << 20);
  }
  void TearDown() override { fs::remove_all(root_); }

  // Of rank 3, whose factors count twice.
  Lora lora(const Transformer& model, AdamOptions options = {}, uint64_t seed = 1) const {
    return {model, root_ / "base", Adapter(model.parameters(), {.rank = 3, .alpha = 6}, seed),
            options};
  }
  Transformer base(at::ScalarType type = at::kFloat) const { return {root_ / "base", type}; }

  fs::path root_;
};

std::map<std::string, at::Tensor> copies(const Transformer& model) {
  std::map<std::string, at::Tensor> out;
  for (const auto& [name, parameter] : model.parameters()) out[name] = parameter.detach().clone();
  return out;
}

// Some text over and over.
std::vector<Example> some_examples() {
  std::vector<Example> out;
  for (int i = 0; i < 4; ++i) out.push_back({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10 + i}, 2});
  return out;
}

TEST_F(LoraTest, BeginsAsItsBase) {
  const Transformer model = base();
  const auto before = copies(model);
  const Lora learning = lora(model);
  for (const auto& [name, parameter] : model.parameters()) {
    EXPECT_TRUE(at::equal(parameter, before.at(name))) << name;
    EXPECT_EQ(parameter.requires_grad(), name.ends_with("_proj.weight")) << name;
  }
  EXPECT_EQ(learning.adapter().factors().size(), 2u * 7);
}

TEST_F(LoraTest, FactorsHaveTheGradientsOfAutograd) {
  const Transformer model = base();
  // Each step is the gradient: with so large an epsilon the rate makes up for it.
  const double large = 1e6;
  Lora learning = lora(model, {.beta1 = 0, .epsilon = large, .decay = 0, .clip = 0});
  const auto& [a, b] = learning.adapter().factors().at(kDown);
  at::Tensor weight = model.parameters().at(kDown);
  at::manual_seed(3);
  for (int step = 0; step < 2; ++step) {  // B is zeros in the first, so that A learns nothing
    const at::Tensor gradient = at::randn_like(weight);
    const at::Tensor a_before = a.detach().clone().set_requires_grad(true);
    const at::Tensor b_before = b.detach().clone().set_requires_grad(true);
    const double scale = 2;  // alpha / rank
    (scale * at::matmul(b_before, a_before) * 1.5 * gradient).sum().backward();
    for (const double share : {0.5, 1.0}) {
      weight.mutable_grad() = gradient;
      learning.accumulate(model.parameters(), share);
      EXPECT_FALSE(weight.grad().defined());
    }
    learning.step(large);
    EXPECT_TRUE(at::allclose(a_before - a, a_before.grad(), 1e-3, 1e-3));
    EXPECT_TRUE(at::allclose(b_before - b, b_before.grad(), 1e-3, 1e-3));
    EXPECT_EQ(at::equal(a_before, a), step == 0);
    EXPECT_FALSE(at::equal(b_before, b));
  }
}

TEST_F(LoraTest, WhatIsKeptIsWhatIsUsed) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Transformer model = base(type);
    const auto before = copies(model);
    Lora learning = lora(model, {.decay = 0});
    Replicas models(model, 2);
    double first = 0, last = 0;
    for (int step = 0; step < 30; ++step) {
      last = sft_step(models, learning, some_examples(), 16, 1, 3e-2).loss;
      if (step == 0) first = last;
    }
    EXPECT_LT(last, 0.9 * first);
    learning.save_model(model, root_ / "runs/adapter");
    EXPECT_FALSE(fs::exists(root_ / "runs/adapter/model.safetensors"));
    const Transformer again(root_ / "runs/adapter", type);
    const SafetensorsFile file(root_ / "runs/adapter" / kAdapterWeights);
    const auto stored = [&](const std::string& name) {
      const StoredTensor& tensor = file.header().tensors.at("base_model.model." + name);
      return stored_view(tensor, file.bytes(tensor), name).to(at::kDouble);
    };
    for (const auto& [name, parameter] : model.parameters()) {
      EXPECT_TRUE(at::equal(parameter, again.parameters().at(name))) << name;
      EXPECT_EQ(at::equal(parameter, before.at(name)), !name.ends_with("_proj.weight")) << name;
      if (!name.ends_with("_proj.weight")) continue;
      const std::string path = name.substr(0, name.size() - std::string(".weight").size());
      const at::Tensor expected =
          before.at(name).to(at::kDouble) +
          2.0 * at::matmul(stored(path + ".lora_B.weight"), stored(path + ".lora_A.weight"));
      EXPECT_TRUE(at::allclose(parameter.detach().to(at::kDouble), expected,
                               type == at::kFloat ? 1e-5 : 5e-3, 1e-6))
          << name;
    }
    for (const auto& copy : models.copies()) {
      EXPECT_TRUE(at::equal(copy->parameters().at(kDown), model.parameters().at(kDown)));
      EXPECT_FALSE(copy->parameters().at("model.embed_tokens.weight").grad().defined());
    }
  }
}

// As a run does that begins with an adapter's folder.
TEST_F(LoraTest, AnAdapterOfAFolderGoesOn) {
  const Transformer model = base();
  Lora first = lora(model);
  Replicas models(model);
  for (int step = 0; step < 3; ++step) sft_step(models, first, some_examples(), 16, 2, 1e-2);
  first.save_model(model, root_ / "adapter");
  const Transformer again = base(), merged(root_ / "adapter", at::kFloat);
  const Lora next(again, root_ / "base", Adapter(again.parameters(), root_ / "adapter"), {});
  for (const auto& [name, parameter] : model.parameters()) {
    EXPECT_TRUE(at::equal(parameter, again.parameters().at(name))) << name;
    EXPECT_TRUE(at::equal(parameter, merged.parameters().at(name))) << name;
  }
  const at::Tensor ids = at::arange(10).unsqueeze(0);
  EXPECT_TRUE(at::equal(again.hidden(ids), merged.hidden(ids)));
}

TEST_F(LoraTest, GoesOnExactlyFromAFile) {
  const Transformer through = base(), stopped = base(), again = base();
  Lora all = lora(through), first = lora(stopped), second = lora(again, {}, 2);
  Replicas one(through), two(stopped), three(again);
  for (int step = 0; step < 3; ++step) {
    sft_step(one, all, some_examples(), 16, 2, 1e-2);
    sft_step(two, first, some_examples(), 16, 2, 1e-2);
  }
  first.save(root_ / "adam.safetensors");
  second.load(root_ / "adam.safetensors");
  for (int step = 0; step < 3; ++step) {
    sft_step(one, all, some_examples(), 16, 2, 1e-2);
    sft_step(three, second, some_examples(), 16, 2, 1e-2);
  }
  for (const auto& [name, parameter] : through.parameters()) {
    EXPECT_TRUE(at::equal(parameter, again.parameters().at(name))) << name;
  }
  Lora other(again, root_ / "base", Adapter(again.parameters(), {.rank = 4}, 1), {});
  EXPECT_THROW(other.load(root_ / "adam.safetensors"), InputError);
}

TEST_F(LoraTest, GradientsThatAreNoNumbersChangeNothing) {
  const Transformer model = base();
  const auto before = copies(model);
  Lora learning = lora(model);
  at::Tensor weight = model.parameters().at(kDown);
  weight.mutable_grad() = at::full_like(weight, std::nan(""));
  learning.accumulate(model.parameters());
  EXPECT_FALSE(std::isfinite(learning.step(0.1)));
  EXPECT_TRUE(at::equal(weight, before.at(kDown)));
  weight.mutable_grad() = at::ones_like(weight);
  learning.accumulate(model.parameters());
  EXPECT_TRUE(std::isfinite(learning.step(0.1)));
  EXPECT_FALSE(at::equal(weight, before.at(kDown)));
}

// One of an adapter's folder that was changed, and what is said.
TEST_F(LoraTest, FactorsThatDoNotFitAreRefused) {
  const Transformer model = base();
  const fs::path folder = root_ / "adapter";
  const auto refusal = [&](const std::function<void(std::map<std::string, at::Tensor>&)>& change) {
    const Lora learning = lora(model);
    learning.save_model(model, folder);
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, factor] : learning.adapter().parameters()) {
      tensors["base_model.model." + name] = factor;
    }
    change(tensors);
    TensorsToStore stored;
    for (const auto& [name, tensor] : tensors) stored.add(name, tensor);
    write_safetensors(folder / kAdapterWeights, stored.list());
    try {
      Transformer(folder, at::kFloat);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string a = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight";
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_NE(refusal([&](auto& t) { t.erase(a); }).find("has no " + a), std::string::npos);
  EXPECT_NE(refusal([&](auto& t) {
              t[a] = at::zeros({3, 31});
            }).find("[3, 31]"),
            std::string::npos);
  EXPECT_NE(
      refusal([&](auto& t) { t["base_model.model.lm_head.lora_A.weight"] = t[a]; }).find("lm_head"),
      std::string::npos);
  EXPECT_NE(refusal([](auto& t) { t.clear(); }).find("no factors"), std::string::npos);
}

}  // namespace
}  // namespace kw::train
