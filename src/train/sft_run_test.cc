// Whole runs on the CPU with the real worker: a stopped one goes on as if it had not been.
#include "train/sft_run.h"

#include <gtest/gtest.h>

#include "formats/error.h"
#include "train/test_run.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

SftConfig small_config() {
  SftConfig config = tiny_run<SftConfig>();
  config.tokens = 3000, config.schedules = 1, config.programs = 12, config.devices = 2;
  config.log_low = {16}, config.log_high = {20};
  config.rate = 1e-2, config.validation = 4;
  return config;
}

int64_t run(SftConfig config, const fs::path& folder, int64_t stop_at) {
  Settings settings;
  describe(settings, config);
  std::atomic<bool> stop{false};
  return run_sft(config, settings, folder, stop, stops_behind(stop_at, stop));
}

std::vector<double> losses(const fs::path& folder) {
  std::vector<double> out;
  for (const Json& line : log_of(folder)) out.push_back(line.at("loss"));
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
  expect_same_models(base / "through", base / "stopped");
  SftConfig another = small_config();
  another.rate = 1e-3;
  EXPECT_THROW(run(another, base / "through", -1), InputError);
  fs::remove_all(base);
}

}  // namespace
}  // namespace kw
