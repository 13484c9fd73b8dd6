// train_measure: measures how fast a model learns and writes. Its tokens are random, so that the
// same work can be given to another program (bench/learning.py). Prints one line of JSON.
#include <ATen/ATen.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/json.h"
#include "formats/model_folder.h"
#include "model/generator.h"
#include "train/step/adamw.h"
#include "train/step/placement.h"
#include "train/step/sft_step.h"

namespace kw::train {
namespace {

struct Flags {
  std::string model, device = "auto";
  int64_t rows = 16, length = 4096, steps = 10, devices = 1;
  int64_t answers = 128, prompt = 128, tokens = 512;
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<TokenId> random_tokens(std::mt19937& random, int64_t count, int64_t words) {
  std::vector<TokenId> out(static_cast<size_t>(count));
  std::ranges::generate(out, [&] { return static_cast<TokenId>(random() % words); });
  return out;
}

// Measures steps of `rows` texts of `length` tokens each; the first two steps are not counted. Each
// step reads its loss, which waits for the device.
Json measure_learning(const Flags& flags, const at::TensorOptions& options) {
  const Transformer model(flags.model, options);
  AdamW adam(model.parameters(), {});
  Replicas models(model, flags.devices);
  std::mt19937 random(1);
  std::vector<Example> texts;
  for (int64_t i = 0; i < flags.rows; ++i) {
    texts.push_back({random_tokens(random, flags.length, model.config().vocabulary), 1});
  }
  const auto step = [&] {
    sft_step(models, adam, texts, static_cast<size_t>(flags.length),
             static_cast<size_t>(flags.rows), 1e-4);
  };
  for (int i = 0; i < 2; ++i) step();
  const double seconds = seconds_of([&] {
    for (int64_t i = 0; i < flags.steps; ++i) step();
  });
  return {{"parameters", model.config().parameters()},
          {"rows", flags.rows},
          {"length", flags.length},
          {"devices", flags.devices},
          {"seconds_per_step", seconds / static_cast<double>(flags.steps)}};
}

// Measures the writing of `answers` answers of `tokens` tokens at once, after one warm-up.
Json measure_writing(const Flags& flags, const at::TensorOptions& options) {
  const Transformer model(flags.model, options);
  const std::string name = find_model(flags.model).tokenizer.string();
  const Tokenizer tokenizer(read_file(name), name);
  std::mt19937 random(1);
  std::vector<GenerationRequest> requests;
  for (int64_t i = 0; i < flags.answers; ++i) {
    GenerationRequest& request = requests.emplace_back();
    request.prompt = random_tokens(random, flags.prompt, tokenizer.size());
    request.max_tokens = flags.tokens;
    request.seed = static_cast<uint64_t>(i);
  }
  Generator generator(model, tokenizer,
                      {.rows = flags.answers, .context = flags.prompt + flags.tokens});
  generator.run(requests);
  int64_t made = 0;
  const double seconds = seconds_of([&] {
    for (const Generation& each : generator.run(requests)) {
      made += static_cast<int64_t>(each.tokens.size());
    }
  });
  return {
      {"answers", flags.answers}, {"prompt", flags.prompt}, {"tokens", made}, {"seconds", seconds}};
}

}  // namespace

}  // namespace kw::train

int main(int argc, char** argv) {
  kw::train::Flags flags;
  CLI::App app("How fast a model learns and writes");
  app.add_option("--model", flags.model, "Hugging Face folder with tokenizer.json")->required();
  app.add_option("--device", flags.device, "auto, cpu, cuda")->capture_default_str();
  app.add_option("--rows", flags.rows, "texts of a step")->capture_default_str();
  app.add_option("--length", flags.length, "tokens of a text")->capture_default_str();
  app.add_option("--devices", flags.devices, "GPUs that share a step")->capture_default_str();
  app.add_option("--steps", flags.steps, "steps that are timed")->capture_default_str();
  app.add_option("--answers", flags.answers, "written at once; 0: none")->capture_default_str();
  app.add_option("--prompt", flags.prompt, "tokens before an answer")->capture_default_str();
  app.add_option("--tokens", flags.tokens, "of an answer")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const at::TensorOptions options = kw::train::placed(flags.device);
    kw::Json out = {
        {"learning", flags.steps > 0 ? kw::train::measure_learning(flags, options) : kw::Json()}};
    out["writing"] = flags.answers > 0 ? kw::train::measure_writing(flags, options) : kw::Json();
    std::puts(out.dump().c_str());
  } catch (const kw::InputError& error) {
    std::fprintf(stderr, "train_measure: %s\n", error.what());
    return 2;
  }
  return 0;
}
