// What a run starts from: which model and tokenizer are loaded, and what is refused.
#include "train/run/run_start.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/scratch_folder.h"
#include "model/config.h"
#include "train/run/test_run.h"

namespace kw::train {
namespace {

TEST(Start, AModelOfOthersGetsTheTokensOfAnswers) {
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
  const RunStart start = load_start(config, {}, {});
  EXPECT_EQ(start.tokenizer.size(), before.size() + 2);
  // Its checkpoints end answers by the token of answers, too.
  const ScratchFolder saved;
  start.model.save(saved.path(), 1 << 20);
  const auto ends = Transformer(saved.path(), at::kFloat).config().end_tokens;
  EXPECT_EQ(ends, (std::vector<int64_t>{shape.end_tokens[0], start.format.end()}));
  config.lora_rank = 4;  // which has no rows for tokens
  EXPECT_THROW(load_start(config, {}, {}), InputError);
  config.lora_rank = 0;
  shape.vocabulary = before.size() + 1;
  std::ofstream(folder.path() / "config.json") << to_json(shape, "float32").dump();
  EXPECT_THROW(load_start(config, {}, {}), InputError);
}

TEST(Start, FitsIntoMemory) {
  RunConfig config;
  config.device = "cpu";
  config.tokenizer = kTestTokenizer;
  config.width = 1 << 20, config.heads = 16, config.inner = 1 << 20, config.layers = 1024;
  try {
    load_start(config, {}, {});
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

// A checkpoint has all that such a run needs, and its reference is a separate model.
TEST(Start, GoesOnFromItsCheckpoint) {
  const ScratchFolder folder;
  const std::filesystem::path run = folder.path() / "run";
  RunConfig config;
  config.device = "cpu";
  config.tokenizer = kTestTokenizer;
  config.width = 32, config.layers = 1, config.heads = 4, config.kv_heads = 2, config.inner = 64;
  const RunStart first = load_start(config, {.has_reference = true}, {});
  write_checkpoint_of_run(run, 3, first.model, first.tokenizer_json, *first.optimizer,
                          Json::object());
  const auto& learned = *first.model.parameters().begin();
  const at::Tensor held = first.reference->parameters().at(learned.first);
  EXPECT_TRUE(at::equal(learned.second, held));
  {
    const at::NoGradGuard guard;
    at::Tensor(learned.second).add_(1);
  }
  EXPECT_FALSE(at::equal(learned.second, held));
  config.seed = 2;  // of another model, if a new one were made
  config.init = (folder.path() / "gone").string();
  config.tokenizer = (folder.path() / "gone.json").string();
  const RunStart next = load_start(config, {}, last_checkpoint(run));
  EXPECT_TRUE(at::equal(next.model.parameters().at(learned.first), held));
  EXPECT_EQ(next.tokenizer_json, first.tokenizer_json);
  EXPECT_FALSE(next.reference);
  EXPECT_THROW(load_start(config, {.has_reference = true}, last_checkpoint(run)), InputError);
}

}  // namespace
}  // namespace kw::train
