// Sessions over models of which no task can be made: nothing is asked, so no process starts.
#include "eval/run/eval_session.h"

#include <gtest/gtest.h>

#include "formats/base/scratch_folder.h"
#include "runtime/executor_client.h"

namespace kw {
namespace {

class Silent : public Policy {
 public:
  std::string name() const override { return "silent"; }
  std::vector<Proposal> propose(const Task&, const DeviceProfile&, int, uint64_t,
                                std::chrono::steady_clock::time_point) override {
    return {};
  }
};

// Keeps what it is given.
class Kept : public EvalSink {
 public:
  void write(const SuiteResult& result, const SuiteModel& model,
             const std::filesystem::path& folder) override {
    EXPECT_EQ(result.model, model.request.file);
    written.push_back(folder / model.name);
  }
  void show(const SuiteResult&, const Json& line, const std::string& label) override {
    EXPECT_EQ(line.value("label", ""), label);
    lines.push_back(line);
  }

  std::vector<std::filesystem::path> written;
  std::vector<Json> lines;
};

class EvalSessions : public testing::Test {
 protected:
  EvalSessions() {
    for (const char* name : {"a", "b", "c", "d"}) {
      SuiteModel& model = models_.emplace_back();
      model.request.file = std::string(name) + ".py";
      model.name = name;
      model.level = models_.size() > 2 ? "level2" : "level1";
      model.fault =
          JobFault{.status = JobResult::Status::kRefused, .code = "operator", .message = "no test"};
    }
  }
  std::vector<JudgedPolicy> policies(const std::vector<std::string>& labels) const {
    std::vector<JudgedPolicy> out(labels.size());
    for (size_t i = 0; i < labels.size(); ++i) {
      out[i].label = labels[i];
      out[i].folder = folder_.path() / std::to_string(i);
      out[i].policy = std::make_unique<Silent>();
    }
    return out;
  }
  EvalSession session(std::vector<size_t> places, const std::vector<std::string>& labels,
                      EvalSessionOptions options = {}) {
    return {std::move(options), models_, std::move(places), policies(labels), profile_,
            executor_,          zygote_};
  }
  EvalLines lines(const std::vector<std::string>& labels) const {
    return {"--lines", folder_.path() / "lines.jsonl", {{"flags", Json::object()}}, labels};
  }

  const ScratchFolder folder_;
  std::vector<SuiteModel> models_;
  const DeviceProfile profile_ = device_profile("h200");
  SharedZygote zygote_{default_worker_config()};
  ExecutorClient executor_{default_executor_config("cpu")};
};

TEST_F(EvalSessions, EachModelAndPolicyHasALine) {
  EvalSession made = session({0, 1, 2, 3}, {"x", "y"});
  Kept kept;
  EXPECT_EQ(made.judged(), 0u);
  made.judge(kept);
  EXPECT_EQ(made.judged(), 4u);
  ASSERT_EQ(kept.lines.size(), 8u);
  EXPECT_TRUE(kept.written.empty());  // there is no folder
  EXPECT_EQ(kept.lines[3]["model"], "b.py");
  EXPECT_EQ(kept.lines[3]["label"], "y");
  EXPECT_EQ(kept.lines[3]["level"], "level1");
  EXPECT_EQ(kept.lines[3]["outcome"], "unusable");
  EXPECT_FALSE(kept.lines[3].contains("files"));
  for (const JudgedPolicy& each : made.policies()) {
    EXPECT_EQ(each.outcomes, (std::map<std::string, int>{{"unusable", 4}}));
  }
}

TEST_F(EvalSessions, WhatIsWrittenIsNamedInTheLine) {
  EvalSession made = session({2}, {"x", "y"}, {.out = folder_.path()});
  Kept kept;
  made.judge(kept);
  ASSERT_EQ(kept.written.size(), 2u);
  EXPECT_EQ(kept.written[1], folder_.path() / "1" / "c");
  EXPECT_EQ(kept.lines[1]["files"], "1/c");
}

TEST_F(EvalSessions, ASessionGoesOnFromTheLinesOfAnEndedOne) {
  {
    EvalLines ended = lines({""});
    EvalSession first = session({1, 3}, {""});
    EXPECT_EQ(first.resume(ended), 0u);
    Kept kept;
    first.judge(kept);
    EXPECT_FALSE(kept.lines[0].contains("label"));
  }
  EvalLines known = lines({""});
  EvalSession made = session({0, 1, 2, 3}, {""});
  EXPECT_EQ(made.resume(known), 2u);
  EXPECT_EQ(made.judged(), 2u);
  Kept kept;
  made.judge(kept);
  ASSERT_EQ(kept.lines.size(), 2u);
  EXPECT_EQ(kept.lines[0]["model"], "a.py");
  EXPECT_EQ(kept.lines[1]["model"], "c.py");
  EXPECT_EQ(made.judged(), 4u);
  EXPECT_EQ(made.models(), 4u);
  EXPECT_TRUE(known.of("a.py") && known.of("d.py"));
}

TEST_F(EvalSessions, ASummaryIsOfAllModelsAndOfEachLevel) {
  EvalSession all = session({0, 1, 2, 3}, {""});
  Kept kept;
  all.judge(kept);
  const PolicySummary summary = all.summarize().at(0);
  EXPECT_EQ(summary.all.unusable, (std::map<std::string, size_t>{{"operator", 4}}));
  ASSERT_EQ(summary.levels.size(), 2u);
  EXPECT_EQ(summary.levels.at("level2").unusable.at("operator"), 2u);
  EvalSession one = session({0, 1}, {""});
  one.judge(kept);
  EXPECT_TRUE(one.summarize().at(0).levels.empty());  // one level is all of it
}

}  // namespace
}  // namespace kw
