// What tests of models and of runs share: a tiny model, a tiny run of any kind on the CPU, and
// readers of what such a run writes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "formats/base/read_file.h"
#include "train/run/run_start.h"

namespace kw::train {

inline constexpr char kTestTokenizer[] =
    KW_SOURCE_DIR "/tests/vectors/tokenizers/trained/tokenizer.json";
inline Tokenizer test_tokenizer() { return {read_file(kTestTokenizer), kTestTokenizer}; }

inline Transformer tiny_model(int64_t vocabulary, uint64_t seed = 1) {
  ModelConfig config;
  config.vocabulary = vocabulary, config.width = 32, config.layers = 2, config.heads = 4;
  config.kv_heads = 2, config.head_width = 8, config.inner = 48, config.context = 64;
  config.tied = config.qk_norm = true;
  return Transformer(config, at::kFloat, seed);
}

// Returns six steps of a new model; each test sets what kinds do not share.
template <class Config>
Config tiny_run() {
  Config config;
  config.device = "cpu";
  config.tokenizer = kTestTokenizer;
  config.width = 32, config.layers = 1, config.heads = 4, config.kv_heads = 2, config.inner = 64;
  config.context = 1024, config.row = 1024, config.rows_at_once = 2, config.threads = 2;
  config.steps = 6, config.warmup = 2, config.evaluate_every = 3, config.checkpoint_every = 2;
  return config;
}

// Stops a run as soon as it has reported this step.
inline RunProgress stops_behind(int64_t step, std::atomic<bool>& stop) {
  return {[&stop, start = "step " + std::to_string(step) + " "](const std::string& line) {
    if (line.starts_with(start)) stop = true;
  }};
}

inline std::vector<Json> log_of(const std::filesystem::path& run) {
  std::vector<Json> out;
  std::ifstream in(run / "log.jsonl");
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
  return out;
}

// Compares the models of the last checkpoints of two runs.
inline void expect_same_models(const std::filesystem::path& one,
                               const std::filesystem::path& other) {
  const auto a = last_checkpoint(one), b = last_checkpoint(other);
  ASSERT_EQ(a->step, b->step);
  const Transformer here(a->folder / "model", at::kFloat), there(b->folder / "model", at::kFloat);
  for (const auto& [name, parameter] : here.parameters()) {
    EXPECT_TRUE(at::equal(parameter, there.parameters().at(name))) << name;
  }
}

}  // namespace kw::train
