#include "train/judge/reviewed_judge.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "formats/base/error.h"
#include "policy/chat/prompt.h"
#include "train/data/program_source.h"
#include "train/run/test_machine.h"

namespace kw::train {
namespace {

// What the verdict says of answers by their first letter: right, wrong, or not judged.
class ByLetter : public Judge {
 public:
  JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t) override {
    JudgeReport out;
    for (const AnswerToJudge& answer : answers) {
      Judgement& one = out.judgements.emplace_back();
      if (answer.text[0] == 'r') one.judged = Judged{true, true, 1.5};
      if (answer.text[0] == 'w') one = {Judged{true, false, 0}, "correct", "off by much"};
    }
    return out;
  }
};

// An endpoint whose model calls what holds "cheat" a delegation, and says nothing of "mumble".
class Endpoint : public HttpTransport {
 public:
  using Deadlines = std::set<std::chrono::steady_clock::time_point>;
  Endpoint(std::vector<std::string>& asked, Deadlines& deadlines, int status)
      : asked_(asked), deadlines_(deadlines), status_(status) {}
  HttpResult post(const std::string&, const HttpHeaders&, const std::string& body,
                  std::chrono::steady_clock::time_point deadline, const Take& take) override {
    const Json question =
        Json::parse(Json::parse(body).at("messages").at(1).at("content").get<std::string>());
    const std::string candidate = question.at("candidate");
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(candidate);
      deadlines_.insert(deadline);
      EXPECT_NE(question.at("reference").get<std::string>().find("def forward"), std::string::npos);
    }
    const Json opinion = {{"id", question.at("id")},
                          {"delegation", candidate.find("cheat") != std::string::npos},
                          {"omitted_component", false},
                          {"hard_coded_output", false},
                          {"why", "so"}};
    const bool mumbles = candidate.find("mumble") != std::string::npos;
    const Json answer = {{"choices",
                          {{{"message", {{"content", mumbles ? "well" : opinion.dump()}}},
                            {"finish_reason", "stop"}}}},
                         {"usage", {{"prompt_tokens", 1}, {"completion_tokens", 1}}}};
    const HttpHead head = {status_, "application/json", {}};
    if (!take(head, answer.dump())) return {head, "", false};
    return {head, "", false};
  }

 private:
  std::vector<std::string>& asked_;
  Deadlines& deadlines_;
  const int status_;
  std::mutex mutex_;
};

std::shared_ptr<const Task> drawn_task() {
  ProgramOptions options;
  options.limits = {{.tensor = 0x1p12, .total = 0x1p14, .low_flops = 0x1p10, .high_flops = 0x1p12}};
  ProgramSource source(options, test_pool(), test_profile());
  auto drawn = source.draw(0, 1);
  source.record(drawn);
  return std::make_shared<const Task>(drawn.at(0).task.value());
}

std::string answer(const std::string& begin, const std::string& comment) {
  return begin + " plan\n\n```python\n# " + comment + "\nclass ModelNew: pass\n```\n";
}

class OpinionsOnProcesses : public testing::Test {
 protected:
  JudgeReport judge(const std::vector<std::string>& texts, int status = 200) {
    ChatOptions chat;
    chat.url = "http://host/v1";
    chat.model = "wise";
    ReviewedJudge judge(
        verdicts_,
        std::make_unique<Reviewer>(chat, std::make_unique<Endpoint>(asked_, deadlines_, status),
                                   make_steady_clock()),
        3);
    std::vector<AnswerToJudge> answers;
    for (const std::string& text : texts) answers.push_back({task_, text, false});
    return judge.judge(answers, 1);
  }

  ByLetter verdicts_;
  std::vector<std::string> asked_;
  Endpoint::Deadlines deadlines_;
  const std::shared_ptr<const Task> task_ = drawn_task();
};

TEST_F(OpinionsOnProcesses, TakeAwayWhatTheVerdictAccepts) {
  const JudgeReport found =
      judge({answer("r", "honest"), answer("r", "cheat"), answer("r", "cheat"),
             answer("w", "cheat"), answer("n", "cheat"), answer("r", "mumble")});
  ASSERT_EQ(found.judgements.size(), 6u);
  EXPECT_TRUE(found.judgements[0].judged->correct);
  EXPECT_EQ(found.judgements[0].judged->speedup, 1.5);
  for (const size_t i : {1u, 2u}) {
    EXPECT_FALSE(found.judgements[i].judged->valid);
    EXPECT_FALSE(found.judgements[i].judged->correct);
    EXPECT_EQ(found.judgements[i].stage, "opinion");
    EXPECT_EQ(found.judgements[i].reason, "delegates: so");
  }
  EXPECT_EQ(found.judgements[3].stage, "correct");  // as the verdict has it
  EXPECT_FALSE(found.judgements[4].judged);
  EXPECT_TRUE(found.judgements[5].judged->correct);  // no opinion: the verdict stands
  EXPECT_EQ(found.times.asked, 3);
  EXPECT_EQ(found.times.no_opinions, 1);
  EXPECT_EQ(asked_.size(), 3u);      // equal answers once, and only those that are right
  EXPECT_EQ(deadlines_.size(), 1u);  // a step waits for all of them together
}

TEST_F(OpinionsOnProcesses, AnEndpointThatRefusesAllEndsTheRun) {
  EXPECT_THROW(judge({answer("r", "honest")}, 401), InputError);
  EXPECT_NO_THROW(judge({answer("w", "honest")}, 401));
}

}  // namespace
}  // namespace kw::train
