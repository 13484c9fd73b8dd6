// Whole runs on the CPU with the real worker: a stopped one goes on as if it had not been.
#include "train/sft_run.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/error.h"
#include "model/transformer.h"
#include "train/checkpoint.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

SftConfig small_config() {
  SftConfig config;
  config.device = "cpu";
  config.tokenizer = KW_SOURCE_DIR "/tests/vectors/tokenizers/trained/tokenizer.json";
  config.width = 32, config.layers = 2, config.heads = 4, config.kv_heads = 2, config.inner = 64;
  config.context = 1024, config.row = 1024, config.tokens = 3000, config.rows_at_once = 2;
  config.levels = {1}, config.schedules = 1, config.programs = 12, config.threads = 2;
  config.log_low = {16}, config.log_high = {20};
  config.steps = 6, config.warmup = 2, config.rate = 1e-2;
  config.validation = 4, config.evaluate_every = 3, config.checkpoint_every = 2;
  return config;
}

int64_t run(SftConfig config, const fs::path& folder, int64_t stop_at) {
  Settings settings;
  describe(settings, config);
  std::atomic<bool> stop{false};
  return run_sft(config, settings, folder, stop, {[&](const std::string& line) {
                   if (line.starts_with("step " + std::to_string(stop_at) + " ")) stop = true;
                 }});
}

std::vector<double> losses(const fs::path& folder) {
  std::vector<double> out;
  std::ifstream in(folder / "log.jsonl");
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line).at("loss"));
  return out;
}

TEST(SftRun, GoesOnExactlyWhereItWasStopped) {
  const fs::path base = fs::path(testing::TempDir()) / "kw-sft-run";
  fs::remove_all(base);
  EXPECT_EQ(run(small_config(), base / "through", -1), 6);
  EXPECT_EQ(run(small_config(), base / "stopped", 3), 3);
  EXPECT_EQ(run(small_config(), base / "stopped", -1), 6);
  const auto through = losses(base / "through"), stopped = losses(base / "stopped");
  EXPECT_EQ(through.size(), 8u);  // six steps, two validations
  EXPECT_EQ(through, stopped);
  EXPECT_LT(through.back(), through.front());
  const auto a = last_checkpoint(base / "through"), b = last_checkpoint(base / "stopped");
  const Transformer one(a->folder / "model", at::kFloat), other(b->folder / "model", at::kFloat);
  for (const auto& [name, parameter] : one.parameters()) {
    EXPECT_TRUE(at::equal(parameter, other.parameters().at(name))) << name;
  }
  SftConfig another = small_config();
  another.rate = 1e-3;
  EXPECT_THROW(run(another, base / "through", -1), InputError);
  fs::remove_all(base);
}

}  // namespace
}  // namespace kw
