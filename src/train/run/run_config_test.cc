// What a recipe says of a model is checked before one is made of it.
#include "train/run/run_config.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/scratch_folder.h"
#include "model/config.h"
#include "model/transformer.h"
#include "train/data/answer_format.h"
#include "train/rl/rl_config.h"
#include "train/run/test_run.h"
#include "train/sft/sft_run.h"
#include "train/step/adamw.h"

namespace kw {
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

TEST(RunTokenizer, AModelOfOthersGetsTheTokensOfAnswers) {
  const ScratchFolder folder;
  Json json = parse_json(read_file(kTestTokenizer), "it");
  for (int i = 0; i < 2; ++i) json["added_tokens"].erase(json["added_tokens"].size() - 1);
  std::ofstream(folder.path() / "tokenizer.json") << json.dump();
  const Tokenizer before(json.dump(), "it");
  ModelConfig shape;
  shape.type = "qwen3";
  shape.vocabulary = before.size() + 8;  // more rows than tokens
  shape.width = shape.inner = 32;
  shape.layers = shape.heads = shape.kv_heads = 1;
  shape.head_width = 32;
  shape.context = 64;
  shape.tied = shape.qk_norm = true;
  shape.end_tokens = {*before.find_added("<|im_end|>")};  // as a chat model ends its turns
  Transformer(shape, at::kFloat, 1).save(folder.path(), 1 << 20);
  RunConfig config;
  config.device = "cpu";
  config.init = folder.path().string();
  const RunTokenizer read = read_tokenizer(config, {});
  const AnswerFormat format(read.tokenizer);
  EXPECT_EQ(read.tokenizer.size(), before.size() + 2);
  // Its checkpoints end answers by the token of answers, too.
  const ScratchFolder saved;
  make_model(config, read.tokenizer, format.end(), {}).save(saved.path(), 1 << 20);
  const auto ends = Transformer(saved.path(), at::kFloat).config().end_tokens;
  EXPECT_EQ(ends, (std::vector<int64_t>{shape.end_tokens[0], format.end()}));
  config.lora_rank = 4;  // which has no rows for tokens
  EXPECT_THROW(read_tokenizer(config, {}), InputError);
  config.lora_rank = 0;
  shape.vocabulary = before.size() + 1;
  std::ofstream(folder.path() / "config.json") << to_json(shape, "float32").dump();
  EXPECT_THROW(read_tokenizer(config, {}), InputError);
}

TEST(ModelShape, FitsIntoMemory) {
  RunConfig config;
  config.device = "cpu";
  config.tokenizer = kTestTokenizer;
  config.width = 1 << 20, config.heads = 16, config.inner = 1 << 20, config.layers = 1024;
  const RunTokenizer read = read_tokenizer(config, {});
  try {
    make_model(config, read.tokenizer, 0, {});
    FAIL();
  } catch (const InputError& error) {
    const std::string said = error.what();
    for (const std::string word : {"model.width", "model.layers", "model.inner", "GB"}) {
      EXPECT_NE(said.find(word), std::string::npos) << said;
    }
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;  // no backtrace
  }
}

// A run that has begun, and learns all parameters, needs its start no more.
TEST(Start, IsNeededToBegin) {
  const std::filesystem::path run = std::filesystem::path(testing::TempDir()) / "kw-start";
  std::filesystem::remove_all(run);
  RunConfig config;
  config.init = (run / "none").string();
  EXPECT_THROW(check_start(config, false, run), InputError);
  const Transformer model = tiny_model(40);
  AdamW adam(model.parameters(), {});
  write_checkpoint_of_run(run, 3, model, "{}", adam, Json::object());
  EXPECT_EQ(check_start(config, false, run), "");
  EXPECT_THROW(check_start(config, true, run), InputError);
  config.lora_rank = 4;
  EXPECT_THROW(check_start(config, false, run), InputError);
  config.init = run.string();
  try {
    check_start(config, false, run);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("checkpoint-3/model meant"), std::string::npos);
  }
  config.init = (run / "checkpoint-3" / "model").string();
  EXPECT_NE(check_start(config, false, run).find("better a copy"), std::string::npos);
  std::filesystem::remove_all(run);
}

}  // namespace
}  // namespace kw
