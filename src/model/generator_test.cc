// Compares drawing with its definition, a loop over tokens, and generation with whole forward
// passes.
#include "model/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <random>

#include "formats/base/error.h"
#include "model/sampling.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

const Tokenizer& tokenizer() {
  static const Tokenizer made = [] {  // every byte a token, and one special one
    Json file = Json::parse(R"({"normalizer": null, "pre_tokenizer": {"type": "ByteLevel",
        "add_prefix_space": false, "use_regex": false},
        "model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []})");
    std::ifstream in(KW_SOURCE_DIR "/tests/vectors/tokenizers/qwen3/tokenizer.json");
    const Json whole = Json::parse(in);
    int next = 0;
    for (const auto& [token, id] : whole.at("model").at("vocab").items()) {
      const size_t characters =
          std::ranges::count_if(token, [](char c) { return (c & 0xC0) != 0x80; });
      if (characters == 1) file["model"]["vocab"][token] = next++;
    }
    file["added_tokens"].push_back({{"id", next},
                                    {"content", "<|end|>"},
                                    {"special", true},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false}});
    return Tokenizer(file.dump(), "bytes");
  }();
  return made;
}

Transformer small_model(uint64_t seed = 3) {
  ModelConfig config;
  config.vocabulary = tokenizer().size() + 3;  // more than the tokenizer has
  config.width = 32, config.layers = 2, config.heads = 4, config.kv_heads = 2;
  config.head_width = 8, config.inner = 48, config.context = 256, config.tied = true;
  config.qk_norm = true;
  Transformer model(config, at::kFloat, seed);
  for (const auto& [name, parameter] : model.parameters()) {
    if (name.ends_with("embed_tokens.weight")) parameter.mul_(8);  // sharper
  }
  return model;
}

std::vector<TokenId> tokens(const std::string& text) { return tokenizer().encode(text); }

// Returns the token of one row by softmax, truncation and inversion in doubles. Returns -1 if the
// number is so near a boundary that rounding decides.
int64_t token_by_definition(const std::vector<double>& logits, double temperature, double top_p,
                            double uniform) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  if (temperature == 0) return std::ranges::max_element(logits) - logits.begin();
  std::vector<double> p;
  const double top = *std::ranges::max_element(logits);
  for (const double x : logits) p.push_back(std::exp((x - top) / temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= total;
  if (top_p < 1) {
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return p[a] > p[b]; });
    double before = 0;
    size_t kept = 0;
    while (kept < order.size() && (kept == 0 || before < top_p)) before += p[order[kept++]];
    if (std::abs(before - top_p) < 1e-5) return -1;
    order.resize(kept);
    std::ranges::sort(order);
  }
  double mass = 0, sum = 0;
  for (const size_t i : order) mass += p[i];
  for (const size_t i : order) {
    sum += p[i];
    if (std::abs(sum - uniform * mass) < 1e-5) return -1;
    if (sum > uniform * mass) return static_cast<int64_t>(i);
  }
  return -1;
}

TEST(Sampling, DrawsByItsDefinition) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 2);
  const int64_t rows = 400, words = 23;
  std::vector<float> logits, temperature, top_p, uniform;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < words; ++k) logits.push_back(static_cast<float>(normal(random)));
    temperature.push_back(std::vector<float>{0, 0.5F, 1, 3}[random() % 4]);
    top_p.push_back(std::vector<float>{1, 0.9F, 0.5F, 0.01F}[random() % 4]);
    uniform.push_back(uniform_number(9, static_cast<uint64_t>(i)));
  }
  const auto all = at::tensor(logits).view({rows, words});
  const Drawn drawn =
      draw_tokens(all, at::tensor(temperature), at::tensor(top_p), at::tensor(uniform), true);
  int64_t compared = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const std::vector<double> row(logits.begin() + i * words, logits.begin() + (i + 1) * words);
    const int64_t expected = token_by_definition(row, temperature[i], top_p[i], uniform[i]);
    if (expected < 0) continue;
    ++compared;
    EXPECT_EQ(drawn.tokens[i].item<int64_t>(), expected) << i;
    double sum = 0;
    const double t = temperature[i] == 0 ? 1 : temperature[i];
    for (const double x : row) sum += std::exp((x - row[expected]) / t);
    EXPECT_NEAR(drawn.log_p[i].item<double>(), -std::log(sum), 1e-4);
  }
  EXPECT_GT(compared, rows * 9 / 10);
}

TEST(Sampling, FrequenciesAreProbabilities) {
  const int64_t draws = 200000;
  const at::Tensor p = at::tensor({0.5, 0.25, 0.125, 0.0625, 0.0625, 0.0}, at::kDouble);
  std::vector<float> uniform;
  for (int64_t i = 0; i < draws; ++i)
    uniform.push_back(uniform_number(77, static_cast<uint64_t>(i)));
  const at::Tensor ones = at::ones({draws});
  const Drawn drawn = draw_tokens(p.log().to(at::kFloat).expand({draws, 6}), ones, ones,
                                  at::tensor(uniform), false);
  const at::Tensor counts = drawn.tokens.bincount({}, 6).to(at::kDouble);
  EXPECT_EQ(counts[5].item<double>(), 0);
  const at::Tensor expected = p.slice(0, 0, 5) * static_cast<double>(draws);
  const double chi_square =
      ((counts.slice(0, 0, 5) - expected).square() / expected).sum().item<double>();
  EXPECT_LT(chi_square, 18.5);  // 4 degrees of freedom, p = 0.001
}

// Numbers at the ends of the range still give tokens that have a probability.
TEST(Sampling, EndsOfTheRange) {
  for (bool truncated : {false, true}) {
    at::Tensor logits = at::full({2, 300}, -std::numeric_limits<float>::infinity());
    logits.slice(1, 100, 200).uniform_(-3, 3);
    const at::Tensor ones = at::ones({2});
    const Drawn drawn =
        draw_tokens(logits, ones, ones, at::tensor({0.0F, 0x1.fffffep-1F}), truncated);
    for (int row : {0, 1}) {
      EXPECT_GE(drawn.tokens[row].item<int64_t>(), 100);
      EXPECT_LT(drawn.tokens[row].item<int64_t>(), 200);
    }
  }
}

std::vector<GenerationRequest> some_requests() {
  std::vector<GenerationRequest> out;
  const std::vector<std::string> prompts = {"x = tl.load(p)", "x = tl.load(p)", "a",
                                            "def f(x):\n",    "def f(x):\n",    "def f(x):\n",
                                            "1 + 1 ="};
  for (size_t i = 0; i < prompts.size(); ++i) {
    GenerationRequest& request = out.emplace_back();
    request.prompt = tokens(prompts[i]);
    request.max_tokens = 10 + 9 * static_cast<int64_t>(i);
    request.temperature = i == 2 ? 0 : 1.0;
    request.top_p = i == 6 ? 0.8 : 1;
    request.seed = 100 + i;
  }
  return out;
}

// Draws each answer and its log-probabilities again, from whole forward passes by the same numbers.
TEST(Generator, AnswersAreThoseOfWholeForwardPasses) {
  const c10::InferenceMode guard;
  const Transformer model = small_model();
  for (int64_t rows : {1, 3, 16}) {
    Generator generator(model, tokenizer(), {.rows = rows, .prefill_tokens = 20, .steps = 7});
    const auto requests = some_requests();
    const auto answers = generator.run(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      const GenerationRequest& request = requests[i];
      const Generation& answer = answers[i];
      ASSERT_EQ(answer.tokens.size(), static_cast<size_t>(request.max_tokens));
      EXPECT_EQ(answer.end, Generation::End::kLength);
      std::vector<int64_t> all(request.prompt.begin(), request.prompt.end());
      all.insert(all.end(), answer.tokens.begin(), answer.tokens.end());
      const at::Tensor ids = at::tensor(all, at::kLong).unsqueeze(0);
      const at::Tensor logits = model.logits(model.hidden(ids))[0].slice(
          0, static_cast<int64_t>(request.prompt.size()) - 1, -1);
      const int64_t count = logits.size(0);
      std::vector<float> uniform;
      for (int64_t k = 0; k < count; ++k) {
        uniform.push_back(uniform_number(request.seed, static_cast<uint64_t>(k)));
      }
      const Drawn drawn = draw_tokens(logits, at::full({count}, request.temperature),
                                      at::full({count}, request.top_p), at::tensor(uniform), true);
      for (int64_t k = 0; k < count; ++k) {
        EXPECT_EQ(drawn.tokens[k].item<int64_t>(), answer.tokens[k]) << rows << ", " << i;
        EXPECT_NEAR(drawn.log_p[k].item<float>(), answer.log_p[k], 1e-4);
      }
    }
  }
}

#ifdef KW_WITH_CUDA
// Replayed steps draw what computed steps draw, and what the CPU draws.
TEST(Generator, CapturedStepsDrawTheSame) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  const Transformer model = small_model();
  const fs::path folder = fs::path(testing::TempDir()) / "kw-captured";
  fs::remove_all(folder);
  model.save(folder, 1 << 20);
  const Transformer there(folder, at::TensorOptions(at::kFloat).device(at::kCUDA));
  std::vector<GenerationRequest> requests;
  while (requests.size() < 40) std::ranges::copy(some_requests(), std::back_inserter(requests));
  const auto here = Generator(model, tokenizer(), {.rows = 3, .steps = 7}).run(requests);
  for (const auto& [rows, graphs] : {std::pair<int64_t, bool>{3, false}, {3, true}, {40, true}}) {
    Generator generator(there, tokenizer(), {.rows = rows, .steps = 7, .graphs = graphs});
    for (int again = 0; again < 2; ++again) {
      const auto answers = generator.run(requests);
      for (size_t i = 0; i < answers.size(); ++i) {
        EXPECT_EQ(answers[i].tokens, here[i].tokens) << rows << ", " << graphs << ", " << i;
        for (size_t k = 0; k < answers[i].log_p.size(); ++k) {
          EXPECT_NEAR(answers[i].log_p[k], here[i].log_p[k], 1e-3);
        }
      }
    }
  }
  // In bfloat16, steps attend by flash attention.
  const Transformer halves(folder, at::TensorOptions(at::kBFloat16).device(at::kCUDA));
  const auto drawn = [&](bool graphs) {
    return Generator(halves, tokenizer(), {.rows = 1, .steps = 7, .graphs = graphs}).run(requests);
  };
  const auto computed = drawn(false), replayed = drawn(true);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(replayed[i].tokens, computed[i].tokens) << i;
    EXPECT_EQ(replayed[i].log_p, computed[i].log_p) << i;
  }
  fs::remove_all(folder);
}
#endif

TEST(Generator, EndTokensAndStopStringsEndAnswers) {
  Transformer model = small_model();
  const auto free = Generator(model, tokenizer(), {.rows = 4}).run(some_requests());
  const Generation& whole = free[3];
  // A part of its own answer stops it, even if that part spans several tokens and several advances.
  const std::string stop = whole.text.substr(17, 3);
  auto requests = some_requests();
  for (auto& request : requests) request.stops = {"never written", stop, ""};
  const auto cut = Generator(model, tokenizer(), {.rows = 4, .steps = 5}).run(requests);
  EXPECT_EQ(cut[3].end, Generation::End::kStop);
  EXPECT_EQ(cut[3].text, whole.text.substr(0, whole.text.find(stop)));
  ASSERT_LT(cut[3].tokens.size(), whole.tokens.size());
  EXPECT_TRUE(std::equal(cut[3].tokens.begin(), cut[3].tokens.end(), whole.tokens.begin()));

  ModelConfig config = model.config();
  config.end_tokens = {whole.tokens[20]};
  Transformer ending(config, at::kFloat, 3);
  for (const auto& [name, parameter] : ending.parameters()) {
    parameter.copy_(model.parameters().at(name));
  }
  const auto ended = Generator(ending, tokenizer(), {.rows = 4}).run(some_requests());
  const auto first = std::ranges::find(whole.tokens, whole.tokens[20]) - whole.tokens.begin();
  EXPECT_EQ(ended[3].end, Generation::End::kToken);
  EXPECT_EQ(ended[3].tokens.size(), static_cast<size_t>(first + 1));
}

// Rows of cancelled requests go to others, and the others' answers stay the same.
TEST(Generator, WhatIsCancelledMakesRoom) {
  const Transformer model = small_model();
  const auto requests = some_requests();
  const auto all = Generator(model, tokenizer(), {.rows = 2}).run(requests);
  Generator generator(model, tokenizer(), {.rows = 2, .steps = 3});
  for (const GenerationRequest& request : requests) generator.submit(request);
  EXPECT_TRUE(generator.advance().empty());
  generator.cancel(1);    // has a row
  generator.cancel(5);    // waits
  generator.cancel(100);  // is not
  EXPECT_EQ(generator.active(), 1u);
  std::map<size_t, Generation> made;
  while (!generator.idle()) {
    for (auto& [number, answer] : generator.advance()) made[number] = std::move(answer);
  }
  EXPECT_EQ(made.size(), requests.size() - 2);
  for (const auto& [number, answer] : made) {
    EXPECT_NE(number, 1u);
    EXPECT_NE(number, 5u);
    EXPECT_EQ(answer.tokens, all[number].tokens);
  }
}

TEST(Generator, FillsTheContextAndNoMore) {
  const Transformer model = small_model();
  Generator generator(model, tokenizer(), {.rows = 2, .context = 40});
  GenerationRequest request;
  request.prompt = tokens(std::string(30, 'x'));
  request.max_tokens = 1000;
  EXPECT_EQ(generator.run({request})[0].tokens.size(), 10u);
  request.prompt = tokens(std::string(40, 'x'));
  EXPECT_THROW(generator.submit(request), InputError);
  EXPECT_TRUE(generator.idle());
}

TEST(Generator, RefusesWhatIsNoRequest) {
  const Transformer model = small_model();
  Generator generator(model, tokenizer());
  const auto refused = [&](auto change) {
    GenerationRequest request;
    request.prompt = tokens("x");
    change(request);
    EXPECT_THROW(generator.submit(request), InputError);
  };
  refused([](auto& r) { r.prompt.clear(); });
  refused([](auto& r) { r.prompt = {-1}; });
  refused([&](auto& r) { r.prompt = {static_cast<TokenId>(model.config().vocabulary)}; });
  refused([](auto& r) { r.max_tokens = 0; });
  refused([](auto& r) { r.temperature = -1; });
  refused([](auto& r) { r.temperature = std::nan(""); });
  refused([](auto& r) { r.top_p = 0; });
  refused([](auto& r) { r.top_p = 1.5; });
}

}  // namespace
}  // namespace kw
