// With the real worker.
#include "train/data/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "formats/base/error.h"
#include "model/transformer.h"
#include "policy/chat/prompt.h"
#include "train/data/answer_format.h"
#include "train/run/test_machine.h"

namespace kw::train {
namespace {

class PairsOnProcesses : public testing::Test {
 protected:
  static PairOptions options(std::vector<int> levels) {
    PairOptions out;
    out.levels = std::move(levels);
    out.limits[0].low_flops = 0x1p16, out.limits[0].high_flops = 0x1p20;
    out.threads = 2;
    return out;
  }
};

std::set<std::string> names_in(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) {
    out.insert(it->str());
  }
  return out;
}

TEST_F(PairsOnProcesses, AnswersComeApartAndNameWhatIsAsked) {
  PairSource source(options({1, 2, 5}), test_pool(), test_profile());
  const auto pairs = source.make(0, 40);
  EXPECT_EQ(source.counts().unrecorded, 0) << source.first_fault();
  EXPECT_EQ(source.counts().programs, 40);
  EXPECT_EQ(source.counts().unwritten, 0);
  ASSERT_GT(pairs.size(), 80u);
  std::set<int> levels;
  std::set<std::string> prompts, answers;
  std::map<uint64_t, size_t> shortest;
  for (const Pair& pair : pairs) shortest.emplace(pair.index, pair.code.size());
  for (const Pair& pair : pairs) {
    const Answer answer = parse_answer(pair.answer());
    EXPECT_EQ(answer.fault, "");
    EXPECT_EQ(answer.source, pair.code);
    EXPECT_EQ(answer.plan + "\n", pair.plan);
    const auto asked = names_in(pair.prompt, "\\bt\\d+\\b");
    for (const std::string& name : names_in(pair.answer(), "\\bt\\d+\\b")) {
      EXPECT_TRUE(asked.contains(name)) << name << "\n" << pair.prompt << pair.answer();
    }
    EXPECT_FALSE(names_in(pair.plan, "\\bt\\d+\\b").empty());
    shortest[pair.index] = std::min(shortest[pair.index], pair.code.size());
    levels.insert(pair.level);
    prompts.insert(pair.prompt);
    answers.insert(pair.answer());
  }
  // Nothing overlong is learned where there is something short.
  for (const Pair& pair : pairs) {
    EXPECT_LE(pair.code.size(), 1.5 * static_cast<double>(shortest[pair.index])) << pair.code;
  }
  EXPECT_EQ(levels, (std::set<int>{1, 2, 5}));
  EXPECT_EQ(answers.size(), pairs.size());
  EXPECT_GE(prompts.size(), 39u);
}

TEST_F(PairsOnProcesses, AreOfTheOperatorsThatAreAskedFor) {
  auto few = options({1});
  few.operators = {find_synth_operator("ReLU"), find_synth_operator("Sinh")};
  PairSource source(few, test_pool(), test_profile());
  std::set<std::string> found;
  for (const Pair& pair : source.make(0, 8)) found.insert(pair.operators);
  EXPECT_EQ(found, (std::set<std::string>{"ReLU", "Sinh"}));
}

TEST_F(PairsOnProcesses, HangOnSeedAndIndexAlone) {
  auto some = options({1, 3});
  const auto all = PairSource(some, test_pool(), test_profile()).make(0, 10);
  some.threads = 1;
  PairSource parts(some, test_pool(), test_profile());
  auto first = parts.make(4, 10), second = parts.make(0, 4);
  second.insert(second.end(), first.begin(), first.end());
  ASSERT_EQ(all.size(), second.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].index, second[i].index);
    EXPECT_EQ(all[i].prompt, second[i].prompt);
    EXPECT_EQ(all[i].answer(), second[i].answer());
  }
  some.seed = 2;
  EXPECT_NE(PairSource(some, test_pool(), test_profile()).make(0, 1)[0].prompt, all[0].prompt);
}

TEST_F(PairsOnProcesses, OfNoLevelAreRefused) {
  EXPECT_THROW(PairSource(options({}), test_pool(), test_profile()), InputError);
}

// Tokens that no text has had are all alike to a model, and an adapter, which leaves embeddings as
// they are, cannot tell one from another: a word of plans was drawn at random from half of the
// vocabulary.
TEST_F(PairsOnProcesses, AreWrittenInTokensThatTheEmbeddedModelKnows) {
  const std::string folder = KW_SOURCE_DIR "/models/embedded";
  std::ifstream file(folder + "/tokenizer.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Tokenizer tokenizer(text, "tokenizer.json");
  const AnswerFormat format(tokenizer);
  const at::Tensor rows = Transformer(folder, at::TensorOptions(at::kFloat))
                              .parameters()
                              .at("model.embed_tokens.weight");
  const at::Tensor apart = at::cdist(rows, rows).fill_diagonal_(1e9);
  const at::Tensor nearest = std::get<0>(apart.min(1));
  const auto known = [&](TokenId token) { return nearest[token].item<double>() > 0.25; };
  PairSource source(options({1, 2, 5}), test_pool(), test_profile());
  size_t unknown = 0, all = 0;
  for (const Pair& pair : source.make(0, 30)) {
    const Example example = format.example(pair.prompt, pair.plan, pair.code);
    const std::vector<bool> plan = format.is_plan(
        {example.tokens.begin() + static_cast<long>(example.answer), example.tokens.end()});
    for (size_t i = example.answer; i < example.tokens.size(); ++i) {
      if (known(example.tokens[i])) continue;
      ++unknown;
      EXPECT_FALSE(plan[i - example.answer])
          << tokenizer.decode({&example.tokens[i], 1}) << " in " << pair.plan;
    }
    all += example.tokens.size();
  }
  EXPECT_LT(unknown, all / 5000);
}

}  // namespace
}  // namespace kw::train
