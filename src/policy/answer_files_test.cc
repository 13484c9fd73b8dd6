#include "policy/answer_files.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "policy/mixed.h"
#include "policy/task_key.h"
#include "policy/test_fragment.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using teacher::kNoDeadline;
using teacher::profile;

const std::string kFileCode = "import torch\nclass ModelNew: pass\n";
const std::string kFileAnswer = "a plan\n```python\n" + kFileCode + "```\n";

class ReplayTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { owner_.write(name, text); }
  std::vector<Proposal> ask(const Task& task, int count = 100) {
    return make_replay(folder)->propose(task, profile(), count, 0, kNoDeadline);
  }

 private:
  TestFolder owner_;

 protected:
  const fs::path folder = owner_.path();
};

Task named(const std::string& file, int64_t rows = 4) {
  Task task = teacher::softmax_task(rows, 8);
  task.source.file = file;
  task.source.cls = "Model";
  return task;
}

TEST_F(ReplayTest, TakesSamplesInOrder) {
  for (int k : {10, 2, 1})
    write("m." + std::to_string(k) + ".py", kFileCode + "# " + std::to_string(k));
  write("m.0.md", kFileAnswer);
  write("m.note", "not an answer");
  const auto found = ask(named("some/where/m.py"));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].plan, "a plan");
  EXPECT_EQ(found[0].source, kFileCode);
  EXPECT_TRUE(found[1].source.ends_with("# 1"));
  EXPECT_TRUE(found[3].source.ends_with("# 10"));
  EXPECT_EQ(ask(named("m.py"), 2).size(), 2u);
}

TEST_F(ReplayTest, NamesAreOfWholeModelsOnly) {
  write("m.0.py", kFileCode);
  Task part = named("m.py");
  part.source.cls = "fragment";
  EXPECT_TRUE(ask(part).empty());
  EXPECT_NE(make_replay(folder)->refusal(part, profile()).find(forward_hash(part)),
            std::string::npos);
}

TEST_F(ReplayTest, PartsAreFoundByTheirHashes) {
  Task part = named("other.py");
  part.source.cls = "fragment";
  write(forward_hash(part) + ".0.py", kFileCode + "# mine");
  write(forward_structure_hash(part) + ".0.py", kFileCode + "# of any size");
  EXPECT_TRUE(ask(part).at(0).source.ends_with("# mine"));
  Task larger = named("third.py", 400);
  EXPECT_NE(forward_hash(larger), forward_hash(part));
  EXPECT_TRUE(ask(larger).at(0).source.ends_with("# of any size"));
}

TEST_F(ReplayTest, WhatMakesInputsIsNoPartOfAHash) {
  Task other = named("x.py");
  teacher::FragmentBuilder b;
  const ValueId made =
      b.call("aten.empty.memory_format", {{"size", teacher::list({4, 8})}}, {4, 8});
  other.inputs = b.build(made).forward;
  other.target = "sm_80";
  EXPECT_EQ(forward_hash(other), forward_hash(named("y.py")));
}

TEST_F(ReplayTest, FilesThatEvalLeftCountOnce) {
  write("m.0.fragment.py", kFileCode);
  write("m.0.py", "class ModelNew(Model): pass");
  write("m.1.fragment.py", kFileCode + "# 1");
  const auto found = ask(named("m.py"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].source, kFileCode);
}

TEST_F(ReplayTest, AnswersWithoutCodeStaySamples) {
  write("m.0.txt", "no");
  write("m.1.py", "");
  write("m.2.py", "\xff");
  for (const Proposal& proposal : ask(named("m.py"))) {
    EXPECT_NE(proposal.fault, "");
    EXPECT_EQ(proposal.source, "");
    EXPECT_FALSE(proposal.unanswered);
  }
}

TEST_F(ReplayTest, ReadsLines) {
  write("a.jsonl", Json{{"task", "m"}, {"sample", 3}, {"answer", "no"}}.dump() + "\n\n" +
                       Json{{"task", "m"}, {"answer", kFileAnswer}}.dump() + "\n");
  const auto found = ask(named("m.py"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].source, kFileCode);
}

TEST_F(ReplayTest, MistakesAreTold) {
  EXPECT_THROW(make_replay(folder), InputError);  // nothing there
  EXPECT_THROW(make_replay(folder / "none"), InputError);
  write("m.0.py", kFileCode);
  write("m.0.txt", kFileAnswer);
  EXPECT_THROW(make_replay(folder), InputError);  // which?
  fs::remove(folder / "m.0.txt");
  for (const char* line : {"{", "[]", "{\"task\": \"x\"}", "{\"task\": 1, \"answer\": \"\"}",
                           "{\"task\": \"x\", \"answer\": \"\", \"sample\": -1}"}) {
    write("bad.jsonl", line);
    EXPECT_THROW(make_replay(folder), InputError) << line;
  }
}

TEST_F(ReplayTest, SaysWhatIsMissing) {
  write("m.0.py", kFileCode);
  write("typo.0.py", kFileCode);
  const auto policy = make_replay(folder);
  policy->propose(named("m.py"), profile(), 1, 0, kNoDeadline);
  EXPECT_NE(policy->refusal(teacher::linear_task(8, 8, 8, DType::kFloat32), profile()), "");
  policy->propose(teacher::linear_task(8, 8, 8, DType::kFloat32), profile(), 1, 0, kNoDeadline);
  EXPECT_EQ(policy->costs(),
            (Json{{"answers", 2}, {"tasks_without", 1}, {"tasks_unused", {"typo"}}}));
}

TEST_F(ReplayTest, TheFingerprintFollowsTheAnswers) {
  write("m.0.py", kFileCode);
  const std::string before = make_replay(folder)->fingerprint();
  EXPECT_EQ(make_replay(folder)->fingerprint(), before);
  write("m.0.py", kFileCode + "#");
  EXPECT_NE(make_replay(folder)->fingerprint(), before);
}

// Gives as many as it has, named by itself.
class Fixed : public Policy {
 public:
  Fixed(std::string name, int has, int at_once)
      : name_(std::move(name)), has_(has), at_once_(at_once) {}
  std::string name() const override { return name_; }
  std::string fingerprint() const override { return "of " + name_; }
  int at_once() const override { return at_once_; }
  std::optional<Guess> guess(const Task&, const DeviceProfile&) override {
    if (has_ == 0) return {};
    return Guess{name_, static_cast<double>(has_)};
  }
  std::vector<Proposal> propose(const Task&, const DeviceProfile&, int count, uint64_t,
                                std::chrono::steady_clock::time_point) override {
    std::vector<Proposal> out(static_cast<size_t>(std::min(count, has_)));
    for (size_t k = 0; k < out.size(); ++k) out[k].plan = name_ + std::to_string(k);
    return out;
  }

 private:
  std::string name_;
  int has_, at_once_;
};

std::string plans(int count, int a, int b) {
  std::vector<std::unique_ptr<Policy>> both;
  both.push_back(std::make_unique<Fixed>("a", a, 4));
  both.push_back(std::make_unique<Fixed>("b", b, 1));
  const auto mixed = make_mixed(std::move(both));
  std::string out;
  for (const Proposal& p :
       mixed->propose(teacher::softmax_task(4, 8), profile(), count, 0, kNoDeadline)) {
    out += p.plan + " ";
  }
  return out;
}

TEST(Mixed, Alternates) {
  EXPECT_EQ(plans(4, 9, 9), "a0 b0 a1 b1 ");
  EXPECT_EQ(plans(3, 9, 9), "a0 b0 a1 ");
  EXPECT_EQ(plans(1, 9, 9), "a0 ");
  EXPECT_EQ(plans(1, 0, 9), "b0 ");
  EXPECT_EQ(plans(6, 1, 3), "a0 b0 b1 b2 ");
}

TEST(Mixed, SpeaksForAll) {
  std::vector<std::unique_ptr<Policy>> both;
  both.push_back(std::make_unique<Fixed>("a", 3, 4));
  both.push_back(std::make_unique<Fixed>("b", 5, 1));
  const auto mixed = make_mixed(std::move(both));
  EXPECT_NE(mixed->fingerprint().find("of a"), std::string::npos);
  EXPECT_NE(mixed->fingerprint().find("of b"), std::string::npos);
  EXPECT_EQ(mixed->at_once(), 4);
  EXPECT_EQ(mixed->guess({}, profile())->family, "b");  // the more cautious
  EXPECT_TRUE(mixed->costs().is_null());
}

}  // namespace
}  // namespace kw
