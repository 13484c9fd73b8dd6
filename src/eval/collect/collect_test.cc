// What is kept of answers, and under what the others are counted.
#include "eval/collect/collect.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "formats/base/error.h"
#include "policy/chat/conversation.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

FoundAnswer answer(const std::string& code, std::optional<double> speedup = {}) {
  FoundAnswer out;
  out.route = "teacher", out.code = code, out.speedup = speedup;
  return out;
}

std::string words(const std::string& stem, int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out +=
        stem + "_" + std::string(1, static_cast<char>('a' + i % 26)) + std::to_string(i) + "_word ";
  return out;
}

FoundTask task(std::vector<FoundAnswer> answers, const std::string& text = words("task", 60)) {
  FoundTask out;
  out.name = "m.py", out.text = text, out.answers = std::move(answers);
  return out;
}

TEST(Keeper, TakesTheFastestThatAreNotAlike) {
  Yields yields;
  Keeper keeper({.answers = 2}, yields);
  const auto kept =
      keeper.keep(task({answer(words("a", 50)), answer(words("b", 50), 1.5),
                        answer(words("b", 50) + "x", 2), answer(words("c", 50), 0.5)}),
                  "s");
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].speedup, 2);
  EXPECT_EQ(kept[1].speedup, 0.5);
  EXPECT_EQ(yields["teacher"].kept, 2);
  EXPECT_EQ(yields["teacher"].dropped.at("like another of the task"), 1);
  EXPECT_EQ(yields["teacher"].dropped.at("enough answers of the task"), 1);
}

TEST(Keeper, TakesAProgramOnceWhateverItsTexts) {
  Yields yields;
  Keeper keeper({}, yields);
  std::vector<FoundAnswer> answers = {answer(words("a", 50)), answer(words("b", 50), 2),
                                      answer(words("c", 50)), answer(words("d", 50))};
  answers[0].program = answers[1].program = "same";  // the others are of an earlier version
  const auto kept = keeper.keep(task(answers), "s");
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].speedup, 2) << "the fastest of them";
  EXPECT_EQ(yields["teacher"].dropped.at("the program of another of the task"), 1);
  answers.resize(1);
  EXPECT_EQ(keeper.keep(task(answers), "t").size(), 1u) << "another task may have it too";
}

TEST(Keeper, TellsTextsThatDoTheSameFromOthers) {
  std::vector<FoundAnswer> answers = {answer(words("a", 50)), answer(words("b", 50), 2),
                                      answer(words("c", 50), 3)};
  answers[0].file = FileDoes::kSame;
  answers[1].file = FileDoes::kOther;
  Yields yields;
  Keeper same({.answers = 1, .same_file = true}, yields);
  const auto kept = same.keep(task(answers), "s");
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].file, FileDoes::kSame);
  EXPECT_EQ(yields["teacher"].dropped.at("its file is other"), 1);
  EXPECT_EQ(yields["teacher"].dropped.at("its file is not tried"), 1);
  EXPECT_EQ(Keeper({}, yields).keep(task(answers), "s").size(), 3u);
}

TEST(Keeper, TakesAFewTasksOfAStructure) {
  Yields yields;
  Keeper keeper({.variants = 2}, yields);
  EXPECT_TRUE(keeper.keep(task({}), "s").empty()) << "a task without answers is none of them";
  for (const size_t kept : {1, 1, 0})
    EXPECT_EQ(keeper.keep(task({answer(words("a", 50))}), "s").size(), kept);
  EXPECT_EQ(keeper.keep(task({answer(words("a", 50))}), "other").size(), 1u);
  EXPECT_EQ(yields["teacher"].dropped.at("enough tasks of one structure"), 1);
}

TEST(Keeper, HoldsOutStructuresAndTexts) {
  Yields yields;
  Keeper keeper({}, yields);
  keeper.hold_out("held", words("held", 60));
  keeper.hold_out("second", words("second", 60));
  const auto kept = [&](const std::string& text, const std::string& structure) {
    return keeper.keep(task({answer(words("a", 50))}, text), structure).size();
  };
  EXPECT_EQ(kept(words("own", 60), "held"), 0u);
  EXPECT_EQ(kept("# a comment\n" + words("held", 60), "own"), 0u);
  EXPECT_EQ(kept(words("own", 60), "own"), 1u);
  EXPECT_EQ(kept(words("own", 60) + words("held", 20), "own"), 1u) << "a fifth is known";
  EXPECT_EQ(yields["teacher"].dropped.at("a held-out model's text"), 1);
}

TEST(AskedName, IsThatOfThePlansNames) {
  for (const auto& [plan, name] : {std::pair{"-> t20\nt20 (4, 4); family: pointwise", 20},
                                   {"-> t31, out3\n", 20},
                                   {"t0 = relu(a0) in one kernel; t21 too", 0},
                                   {"values: cumsum -> out0; tiling: persistent", 0},
                                   {"", 0},
                                   {"at20 t20x t", 0}}) {
    EXPECT_EQ(asked_name(plan), name) << plan;
  }
}

TEST(Difficulty, IsTheShareOfRightAnswers) {
  for (const auto& [right, label] :
       {std::pair{9, "easy"}, {6, "easy"}, {5, "medium"}, {3, "medium"}, {2, "hard"}}) {
    FoundTask found;
    found.judged = 9, found.right = right;
    EXPECT_EQ(difficulty(found), label);
  }
}

// A run as eval leaves it: what is not an answer to learn from is counted by its reason.
TEST(FoundAnswers, AreThoseThatWereAcceptedInFull) {
  const fs::path folder = fs::path(testing::TempDir()) / "kw-collect-run";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto sample = [](Json more) {
    Json out = {{"outcome", "accepted"}, {"in_full", true},          {"plan", "p"},
                {"family", "f"},         {"rejected_at", nullptr},   {"degenerate", false},
                {"same_as", nullptr},    {"speedup_eager", nullptr}, {"speedup_compile", nullptr},
                {"share", nullptr},      {"allclose", true},         {"reason", ""}};
    out.update(more);
    return out;
  };
  const Json line = {
      {"model", "m.py"},
      {"files", "m"},
      {"outcome", "verified"},
      {"level", "level1"},
      {"samples",
       {sample({{"speedup_eager", {{"estimate", 2.0}, {"lower", 1.9}, {"upper", 2.1}}},
                {"plan", "a plan\n```\nwhole\n```\n```python\nx = 1"},
                {"program", "hash"},
                {"file", "other"}}),
        sample({{"outcome", "rejected"}, {"rejected_at", "correct"}}), sample({{"same_as", 0}}),
        sample({{"degenerate", true}}), sample({{"in_full", false}}),
        sample({{"outcome", "not judged"}}), sample(Json::object()), sample({{"share", 0.6}})}}};
  std::ofstream(folder / "lines.jsonl")
      << Json{{"eval", {{"flags", {{"--policy", {"local"}}}}, {"backend", "cpu"}}}}.dump() << "\n"
      << line.dump() << "\n";
  std::ofstream(folder / "m.reference.py") << "text";
  const std::string code = "import torch\nclass ModelNew: pass\n";
  std::ofstream(folder / "m.0.fragment.py") << code;
  Yields yields;
  const auto found = find_answers({read_eval_run(folder)}, yields);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "text");
  EXPECT_EQ(found[0].level, "level1");
  EXPECT_EQ(found[0].judged, 7);
  ASSERT_EQ(found[0].answers.size(), 1u);
  EXPECT_EQ(found[0].answers[0].code, code);
  // The plan was cut within a fence, and is cut before it.
  EXPECT_EQ(found[0].answers[0].plan, "a plan\n```\nwhole\n```\n");
  EXPECT_EQ(parse_answer(answer_text(found[0].answers[0].plan, code)).source, code);
  EXPECT_EQ(found[0].answers[0].speedup, 2.0);
  EXPECT_EQ(found[0].answers[0].program, "hash");
  EXPECT_EQ(found[0].answers[0].file, FileDoes::kOther);
  const RouteYield& local = yields.at("local");
  EXPECT_EQ(local.answers, 8);
  const std::map<std::string, int64_t> want = {{"rejected: correct", 1},
                                               {"equal to another", 1},
                                               {"the task is degenerate", 1},
                                               {"judged by one trial", 1},
                                               {"not judged", 1},
                                               {"no file of the answer", 1},
                                               {"PyTorch does a part of the work", 1}};
  EXPECT_EQ(local.dropped, want);
  std::ofstream(folder / "m.7.fragment.py") << "hybrid";
  Yields both;
  const auto hybrids = find_answers({read_eval_run(folder)}, both, true);
  ASSERT_EQ(hybrids.at(0).answers.size(), 2u);
  EXPECT_EQ(hybrids[0].answers[1].program, "") << "runs of earlier versions do not say it";
  EXPECT_EQ(hybrids[0].answers[1].file, FileDoes::kNotTried);
  fs::remove(folder / "m.reference.py");
  Yields without;
  EXPECT_TRUE(find_answers({read_eval_run(folder)}, without).empty());
  EXPECT_EQ(without.at("local").dropped.at("no file of the model"), 8);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace kw
