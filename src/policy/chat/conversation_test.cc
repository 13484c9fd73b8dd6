// What is written is read as it was, what others write as they mean it, and what is no conversation
// is refused by its line.
#include "policy/chat/conversation.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

class Conversations : public testing::Test {
 protected:
  ~Conversations() override { fs::remove(path_); }
  std::vector<Conversation> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_conversations(path_);
  }
  std::string fault(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  }
  const fs::path path_ = fs::path(testing::TempDir()) / "kw-conversations.jsonl";
};

const std::string kSaidCode =
    "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, a0):\n        "
    "return "
    "a0\n";

std::string row(const Json& messages) { return Json{{"messages", messages}}.dump() + "\n"; }
Json said(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

TEST_F(Conversations, AreReadAsTheyWereWritten) {
  std::string long_plan = "-> t1, t2\n";
  while (long_plan.size() < 20000) long_plan += "t1 (4, 4); family: pointwise\n";
  const std::string with_ticks = "import torch\ns = \"\"\"\n```\n\"\"\"\nclass ModelNew:\n  pass\n";
  const std::vector<Conversation> rows = {{"def forward(a0): ...\n", "-> t1\n", kSaidCode},
                                          {"\u00e4 \"quoted\"\n\ttext", "", kSaidCode},
                                          {"long", long_plan, kSaidCode},
                                          {"ticks", "- a list\n\n", with_ticks, "Be fast."}};
  std::string text;
  for (const Conversation& one : rows) text += conversation_line(one, {{"level", 3}});
  const std::vector<Conversation> got = read(text);
  ASSERT_EQ(got.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(got[i].prompt, rows[i].prompt);
    EXPECT_EQ(got[i].plan, rows[i].plan);
    EXPECT_EQ(got[i].code, rows[i].code);
    EXPECT_EQ(got[i].system, rows[i].system);
  }
  EXPECT_EQ(Json::parse(text.substr(0, text.find('\n'))).at("level"), 3);
}

TEST_F(Conversations, OfOthersAreReadToo) {
  const std::string answer = "<think>hm: ```python\nno\n```</think>\nFirst, fuse.\n```python\n" +
                             kSaidCode + "```\nThat is all.";
  auto got =
      read(row({said("system", "Be fast."), said("user", "Question?"), said("assistant", answer)}));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].prompt, "Question?");
  EXPECT_EQ(got[0].plan, "First, fuse.");
  EXPECT_EQ(got[0].code, kSaidCode);
  // The last question counts, and a column `task` in its place; code needs no fence.
  got = read(row({said("user", "one"), said("assistant", "no code"), said("user", "two"),
                  said("assistant", "plan\n" + kSaidCode)}));
  EXPECT_EQ(got.at(0).prompt, "two");
  EXPECT_EQ(got.at(0).plan, "plan\n");
  EXPECT_EQ(got.at(0).code, kSaidCode);
  const std::string rest =
      R"(, "task": "short", "messages": [{"role": "user", "content": "long"}, {"role": "assistant", "content": )" +
      Json(kSaidCode).dump() + "}]}";
  got = read("{\"score\": 1" + rest);
  EXPECT_EQ(got.at(0).prompt, "short");
  EXPECT_EQ(got.at(0).plan, "");
}

TEST_F(Conversations, WhatIsNoneIsRefusedByItsLine) {
  const std::string good = row({said("user", "q"), said("assistant", kSaidCode)});
  EXPECT_NE(fault(good + "\n{").find("line 3"), std::string::npos) << fault(good + "\n{");
  EXPECT_NE(fault("").find("no rows"), std::string::npos);
  for (const std::string& bad :
       {std::string("[]\n"), row("text"), row({said("user", "q")}), row(Json::array()),
        row({said("assistant", kSaidCode)}), row({said("tool", "q"), said("assistant", kSaidCode)}),
        row({said("user", "q"), said("assistant", "no code")}),
        row({said("user", "q"), said("assistant", kSaidCode), said("user", "q")}),
        row({said("user", "q"), {{"role", "assistant"}, {"content", 3}}})}) {
    EXPECT_NE(fault(good + bad).find("line 2"), std::string::npos) << bad << fault(good + bad);
  }
  EXPECT_NE(fault(row({said("user", "q"), said("assistant", "none")})).find("messages[1]"),
            std::string::npos);
}

}  // namespace
}  // namespace kw
