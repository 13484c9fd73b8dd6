#include "train/step/sft_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "formats/base/error.h"
#include "train/run/test_run.h"
#include "train/step/adamw.h"

namespace kw::train {
namespace {

std::vector<Example> some_examples(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Example> out(count);
  for (Example& example : out) {
    example.tokens.resize(3 + random() % 20);
    for (TokenId& token : example.tokens) token = static_cast<TokenId>(random() % 40);
    example.answer = 1 + random() % (example.tokens.size() - 1);
  }
  return out;
}

// The loss's definition: every text alone, every token of its answer from its own softmax.
double loss_by_definition(const Transformer& model, const std::vector<Example>& examples) {
  const at::NoGradGuard guard;
  double sum = 0, count = 0;
  for (const Example& example : examples) {
    const std::vector<int64_t> ids(example.tokens.begin(), example.tokens.end());
    const at::Tensor logits =
        model.logits(model.hidden(at::tensor(ids, at::kLong).unsqueeze(0)))[0].to(at::kDouble);
    for (size_t k = example.answer; k < ids.size(); ++k) {
      const at::Tensor row = logits[static_cast<int64_t>(k) - 1];
      sum += (row.logsumexp(0) - row[ids[k]]).item<double>();
      count += 1;
    }
  }
  return sum / count;
}

TEST(Sft, LossIsThatOfEachTextAlone) {
  const Transformer model = tiny_model(40);
  const auto examples = some_examples(30, 8);
  const double expected = loss_by_definition(model, examples);
  for (size_t row : {23, 40, 200}) {
    for (size_t at_once : {1, 3, 100}) {
      EXPECT_NEAR(sft_loss(model, examples, row, at_once), expected, 1e-5);
    }
  }
}

// However a batch is divided into rows, parts and devices, the step is the same.
TEST(Sft, PartsAddUp) {
  const auto examples = some_examples(25, 9);
  struct Way {
    size_t row, at_once;
    int64_t devices;
  };
  std::vector<at::Tensor> embeddings;
  for (const auto& [row, at_once, devices] :
       {Way{200, 100, 1}, {30, 1, 1}, {50, 2, 1}, {200, 100, 2}, {30, 1, 2}, {50, 2, 3}}) {
    const Transformer model = tiny_model(40);
    AdamW adam(model.parameters(), {.epsilon = 1e-3});  // so that tiny gradients stay tiny steps
    Replicas models(model, devices);
    const SftReport report = sft_step(models, adam, examples, row, at_once, 1e-2);
    EXPECT_NEAR(report.loss, loss_by_definition(tiny_model(40), examples), 1e-5);
    EXPECT_GT(report.norm, 0);
    EXPECT_LE(report.filled, 1);
    embeddings.push_back(model.parameters().at("model.embed_tokens.weight").detach().clone());
  }
  for (const at::Tensor& other : embeddings) {
    EXPECT_LT((other - embeddings[0]).abs().max().item<double>(), 1e-4);
  }
}

// A few texts are learned by heart, but not the text before the answers.
TEST(Sft, LearnsAnswersByHeart) {
  const Transformer model = tiny_model(40);
  std::vector<Example> examples = some_examples(6, 10);
  for (size_t i = 0; i < examples.size(); ++i) {  // else equal prompts have different answers
    examples[i].tokens.insert(examples[i].tokens.begin(), static_cast<TokenId>(i));
    ++examples[i].answer;
  }
  AdamW adam(model.parameters(), {.decay = 0});
  Replicas models(model);
  const Schedule schedule{.rate = 1e-2, .last = 1e-3, .warmup = 10, .steps = 150};
  const double before = sft_loss(model, examples, 64, 8);
  for (int64_t step = 0; step < 150; ++step) {
    sft_step(models, adam, examples, 64, 8, schedule.at(step));
  }
  EXPECT_GT(before, 3);  // log 40 = 3.7
  EXPECT_LT(sft_loss(model, examples, 64, 8), 0.02);
  for (Example& example : examples) {
    example.tokens.resize(example.answer + 1);
    example.answer = 1;  // now the prompts
  }
  EXPECT_GT(sft_loss(model, examples, 64, 8), 1);
}

TEST(Sft, RefusesExamplesWithoutPromptOrAnswer) {
  const Transformer model = tiny_model(40);
  for (size_t answer : {0, 3, 4}) {
    const Example example{{1, 2, 3}, answer};
    EXPECT_THROW(sft_loss(model, {example}, 64, 8), InputError);
  }
  EXPECT_THROW(sft_loss(model, {Example{std::vector<TokenId>(65), 1}}, 64, 8), InputError);
}

}  // namespace
}  // namespace kw::train
