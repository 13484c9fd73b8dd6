// What a recipe says of a model is checked before one is made of it.
#include "train/run/run_config.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "train/rl/rl_config.h"
#include "train/sft/sft_run.h"

namespace kw::train {
namespace {

template <class Config>
std::string refusal(const Config& config) {
  try {
    check(config);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ModelShape, HasHeadsThatDivide) {
  SftConfig config;
  EXPECT_EQ(refusal(config), "");
  config.heads = 7;
  EXPECT_EQ(refusal(config), "model.heads is 7, which does not divide model.width, 384");
  config.heads = 6, config.kv_heads = 4;
  EXPECT_EQ(refusal(config), "model.kv_heads is 4, which does not divide model.heads, 6");
  config.width = 18, config.heads = 6, config.kv_heads = 2;
  EXPECT_EQ(refusal(config),
            "model.width / model.heads is 3: positions need an even number for each head");
  config.init = "some/folder";  // has a shape of its own
  EXPECT_EQ(refusal(config), "");
}

TEST(ModelShape, IsOfAnyRun) {
  RlConfig config;
  EXPECT_EQ(refusal(config), "");
  config.heads = 7;
  EXPECT_NE(refusal(config).find("model.heads is 7"), std::string::npos);
}

}  // namespace
}  // namespace kw::train
