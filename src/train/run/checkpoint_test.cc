#include "train/run/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"
#include "train/run/test_run.h"
#include "train/step/adamw.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

TEST(Checkpoint, TheLastWholeOneIsFound) {
  const fs::path run = fs::path(testing::TempDir()) / "kw-checkpoints";
  fs::remove_all(run);
  EXPECT_FALSE(last_checkpoint(run));
  const Transformer model = tiny_model(40);
  AdamW adam(model.parameters(), {});
  for (int64_t step : {5, 10, 100}) {
    write_checkpoint_of_run(run, step, model, "{}", adam, {{"chunk", step}});
  }
  fs::create_directories(run / ".checkpoint-200.half");  // a write that was interrupted
  fs::create_directories(run / "checkpoint-x");
  const auto found = last_checkpoint(run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 100);
  EXPECT_EQ(found->state.at("chunk"), 100);
  EXPECT_FALSE(fs::exists(run / "checkpoint-5"));  // two are kept
  EXPECT_TRUE(fs::exists(run / "checkpoint-10"));
  const Transformer again(found->folder / "model", at::kFloat);
  for (const auto& [name, parameter] : model.parameters()) {
    EXPECT_TRUE(at::equal(parameter, again.parameters().at(name)));
  }
  const fs::path last = run / "checkpoint-100", adam_file = last / "adam.safetensors";
  const auto size = fs::file_size(adam_file);
  fs::resize_file(adam_file, size / 2);  // what is damaged is passed over
  EXPECT_EQ(last_checkpoint(run)->step, 10);
  fs::resize_file(adam_file, size);
  fs::rename(last / "model", last / "elsewhere");
  EXPECT_EQ(last_checkpoint(run)->step, 10);
  fs::rename(last / "elsewhere", last / "model");
  for (const char* state : {"{", "\"x\""}) {
    std::ofstream(last / "state.json") << state;
    EXPECT_EQ(last_checkpoint(run)->step, 10) << state;
  }
  std::ofstream(run / "checkpoint-10" / "state.json") << "{";
  EXPECT_THROW(last_checkpoint(run), InputError);
  write_checkpoint_of_run(run, 300, model, "{}", adam, {{"chunk", 1}});
  EXPECT_FALSE(fs::exists(run / ".checkpoint-200.half"));
  fs::remove_all(run);
}

}  // namespace
}  // namespace kw::train
