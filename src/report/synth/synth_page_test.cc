#include "report/synth/synth_page.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "report/markup/markup.h"
#include "report/synth/synth_summary.h"
#include "report/test_strict_reader.h"
#include "synth/skeleton/synth_operators.h"

namespace kw {
namespace {

Json step(const std::string& op, const std::vector<std::string>& operands,
          const std::string& result) {
  return {{"operator", op}, {"operands", operands}, {"result", result}};
}

// A chain of three, whose first result is read twice.
Json chain() {
  return {{"id", "chain"},
          {"level", 3},
          {"dtype", "float32"},
          {"structure", "aaaa"},
          {"split", "train"},
          {"flops", 3 * 1024.0},
          {"window", {1024.0, 16384.0}},
          {"steps",
           {step("Conv1d", {"x0", "w0"}, "t0"), step("ReLU", {"t0"}, "t1"),
            step("Add", {"t1", "t0"}, "t2")}},
          {"tensors",
           {{"x0", {1, 8, 100}},
            {"w0", {4, 8, 1}},
            {"t0", {1, 4, 100}},
            {"t1", {1, 4, 100}},
            {"t2", {1, 4, 100}}}}};
}

// One result that is read three times, twice by one step.
Json fan() {
  return {
      {"id", "fan"},
      {"level", 3},
      {"dtype", "float16"},
      {"structure", "bbbb"},
      {"split", "unseen"},
      {"flops", 16384.0},
      {"window", {1024.0, 16384.0}},
      {"steps",
       {step("ReLU", {"x0"}, "t0"), step("Add", {"t0", "t0"}, "t1"), step("ArgMax", {"t0"}, "t2")}},
      {"tensors", {{"x0", {7, 9}}, {"t0", {7, 9}}, {"t1", {7, 9}}, {"t2", Json::array({7})}}}};
}

Json rejected(const std::string& flaw, const std::vector<std::string>& operators) {
  return {{"flaw", flaw}, {"reason", "because"}, {"operators", operators}};
}

SynthCoverage coverage_of(const std::vector<Json>& rows) {
  SynthCoverage coverage;
  for (const Json& row : rows) coverage.add(JsonReader(row, "tasks:1"));
  return coverage;
}

// Three rows, one of which repeats the first and was drawn after two that were rejected.
SynthCoverage sample() {
  Json again = chain();
  again["id"] = "again";
  again["rejected"] = {rejected("constant", {"Sum", "Add"}),
                       rejected("unstable", {"Add", "Add", "Exp2"})};
  return coverage_of({chain(), fan(), again});
}

size_t place(const std::string& name) {
  return static_cast<size_t>(find_synth_operator(name) - synth_operators().data());
}

TEST(SynthCoverage, CountsOperatorsAndPairs) {
  const SynthCoverage c = sample();
  EXPECT_EQ(c.programs, 3);
  EXPECT_EQ(c.operators[place("Add")].steps, 3);
  EXPECT_EQ(c.operators[place("Conv1d")].steps, 2);
  EXPECT_EQ(c.operators[place("ArgMax")].programs, 1);
  EXPECT_EQ(c.operators[place("Sum")].steps, 0);  // of a rejected program alone
  EXPECT_EQ(c.pairs[place("Conv1d")][place("ReLU")], 2);
  EXPECT_EQ(c.pairs[place("Conv1d")][place("Add")], 2);
  EXPECT_EQ(c.pairs[place("ReLU")][place("Add")], 4);  // once in each chain, twice in the fan
  EXPECT_EQ(c.pairs[place("ReLU")][place("ArgMax")], 1);
  EXPECT_EQ(c.pairs[place("ReLU")][place("Conv1d")], 0);
  const SynthSummary summary(c);
  EXPECT_EQ(summary.operators, 4u);
  EXPECT_EQ(summary.pairs, 4u);
  EXPECT_EQ(summary.pairs + summary.missing.size(), summary.all_pairs);
}

TEST(SynthCoverage, AStepOfTwoLikeOperatorsIsInOneProgram) {
  Json row = chain();
  row["steps"][1]["operator"] = "Conv1d";
  const SynthCoverage c = coverage_of({row});
  EXPECT_EQ(c.operators[place("Conv1d")].steps, 2);
  EXPECT_EQ(c.operators[place("Conv1d")].programs, 1);
}

TEST(SynthCoverage, CountsShapes) {
  const SynthCoverage c = sample();
  EXPECT_EQ(c.depth, (Histogram{{2, 1}, {3, 2}}));
  EXPECT_EQ(c.reads, (Histogram{{0, 4}, {1, 2}, {2, 2}, {3, 1}}));
  EXPECT_EQ(c.inputs, (Histogram{{1, 3}}));
  EXPECT_EQ(c.parameters, (Histogram{{0, 1}, {1, 2}}));
  EXPECT_EQ(c.outputs, (Histogram{{1, 2}, {2, 1}}));
  EXPECT_EQ(c.ranks, (Histogram{{1, 1}, {2, 3}, {3, 10}}));
  // Of a chain: 1 five times, 4 four times, 8 twice, 100 four times. Of the fan: 7 four times, 9
  // three times.
  EXPECT_EQ(c.sizes, (Histogram{{0, 10}, {2, 8 + 4}, {3, 4 + 3}, {6, 8}}));
  EXPECT_EQ(c.largest, (Histogram{{5, 1}, {9, 2}}));  // 63 and 800 elements
  EXPECT_EQ(c.flops, (Histogram{{11, 2}, {14, 1}}));
  // log2(3) / 4 = 0.396 is in the eighth twentieth; the upper end is in the last.
  EXPECT_EQ(c.position, (Histogram{{7, 2}, {19, 1}}));
}

TEST(SynthCoverage, ProgramsMayHaveNoFlopsOrLieOutsideTheirWindow) {
  Json none = fan(), low = fan(), above = fan(), below = fan();
  none["flops"] = 0;
  none["window"] = {0, 16384.0};
  low["flops"] = 1024;
  above["flops"] = 16385;
  below["flops"] = 1023;
  const SynthCoverage c = coverage_of({none, low, above, below});
  EXPECT_EQ(c.flops, (Histogram{{kNoFlops, 1}, {9, 1}, {10, 1}, {14, 1}}));
  EXPECT_EQ(c.position, (Histogram{{-1, 1}, {0, 1}, {kWindowParts, 1}}));
  const StrictReader page(synth_page(c, "tasks.jsonl"));
  expect_inert(page);
  for (const char* text : {"none: 1 (25 %)", "below the window: 1", "above the window: 1"}) {
    EXPECT_NE(page.text.find(text), std::string::npos) << text;
  }
}

TEST(SynthCoverage, CountsRepeatedStructures) {
  Json third = chain(), fourth = fan();
  third["id"] = "third";
  SynthCoverage c = coverage_of({chain(), fan(), third, chain(), fourth});
  EXPECT_EQ(c.structures(), 2);
  EXPECT_EQ(SynthSummary(c).repeats, 3);
  const std::vector<RepeatedStructure> repeated = c.most_repeated(10);
  ASSERT_EQ(repeated.size(), 2u);
  EXPECT_EQ(repeated[0].structure, "aaaa");
  EXPECT_EQ(repeated[0].rows, 3);
  EXPECT_EQ(repeated[0].id, "third");
  EXPECT_EQ(repeated[0].operators,
            (std::vector<size_t>{place("Conv1d"), place("ReLU"), place("Add")}));
  EXPECT_EQ(repeated[1].rows, 2);
  EXPECT_EQ(c.most_repeated(1).size(), 1u);
}

TEST(SynthCoverage, CountsWhatWasRejected) {
  const SynthCoverage c = sample();
  EXPECT_EQ(c.examined, 3);  // the program of one row, and two before it
  EXPECT_EQ(c.rejected, (std::map<std::string, int64_t>{{"constant", 1}, {"unstable", 1}}));
  const OperatorCounts& add = c.operators[place("Add")];
  EXPECT_EQ(add.examined, 3);
  EXPECT_EQ(add.rejected, (std::map<std::string, int64_t>{{"constant", 1}, {"unstable", 1}}));
  EXPECT_EQ(c.operators[place("Exp2")].examined, 1);
  EXPECT_EQ(c.operators[place("ReLU")].examined, 1);
  EXPECT_TRUE(c.operators[place("ReLU")].rejected.empty());
  EXPECT_EQ(SynthSummary(c).rejected, 2);
}

// By the domains in docs/synthesis.md.
TEST(SynthCoverage, KnowsWhichPairsCanOccur) {
  const SynthCoverage c;
  const auto possible = [&](const char* a, const char* b) {
    return c.possible[place(a)][place(b)];
  };
  for (const SynthOperator& op : synth_operators()) {
    EXPECT_FALSE(possible("ArgMax", std::string(op.name).c_str())) << op.name;
    EXPECT_TRUE(possible("Add", std::string(op.name).c_str())) << op.name;
  }
  EXPECT_TRUE(possible("Bmm", "AvgPool1d"));
  EXPECT_FALSE(possible("Bmm", "AvgPool2d"));  // three dims, and it wants four
  EXPECT_TRUE(possible("Sum", "Conv3d"));      // with keepdim
  EXPECT_FALSE(possible("Conv1d", "Conv2d"));
  EXPECT_TRUE(possible("Conv2d", "Stack"));
  EXPECT_FALSE(possible("Conv3d", "Stack"));  // it would give six dims
  EXPECT_TRUE(possible("Stack", "Conv3d"));
  EXPECT_TRUE(possible("Conv1d", "Matmul"));  // computed operands in either place
}

TEST(SynthCoverage, MedianIsTheLeastThatHalfAreAtOrBelow) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({{5, 1}}), 5);
  EXPECT_EQ(median({{1, 2}, {2, 1}, {9, 1}}), 1);
  EXPECT_EQ(median({{1, 1}, {2, 1}, {9, 1}}), 2);
}

TEST(SynthCoverage, WhatIsNoRowIsSaidWithItsPlace) {
  const std::vector<std::pair<std::string, Json>> edits = {
      {"/steps/1/operator", "Rellu"},
      {"/steps/1/operands/0", "t7"},
      {"/steps/0/operands/0", "t1"},  // of a later step
      {"/steps/1/result", "t0"},
      {"/steps/1/operands/0", "x9"},
      {"/steps", Json::array()},
      {"/tensors/x0/1", 0},
      {"/tensors/x0/1", "8"},
      {"/tensors/q", Json::array({1})},
      {"/flops", 0.5},
      {"/flops", -4},
      {"/window", {5, 4}},
      {"/window", Json::array({1})},
      {"/level", "5"},
      {"/dtype", nullptr},
      {"/structure", 3},
      {"/split", 3},
      {"/rejected", 3},
      {"/rejected", Json::array({rejected("constant", {"Ad"})})},
  };
  for (const auto& [pointer, value] : edits) {
    Json row = chain();
    row[Json::json_pointer(pointer)] = value;
    SynthCoverage c;
    try {
      c.add(JsonReader(row, "tasks.jsonl:7"));
      ADD_FAILURE() << pointer << " = " << value;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("tasks.jsonl:7")) << error.what();
    }
  }
  const Json whole = chain();
  for (const auto& [member, value] : whole.items()) {
    if (member == "split") continue;  // tasks of one operator have none
    Json row = whole;
    row.erase(member);
    SynthCoverage c;
    EXPECT_THROW(c.add(JsonReader(row, "tasks.jsonl:7")), InputError) << member;
  }
}

TEST(SynthSummary, ForTheTerminal) {
  const SynthCoverage c = sample();
  const SynthSummary summary(c);
  const std::string text = summary_text(c);
  const std::string all = std::to_string(csp_dag_operators().size());
  for (const std::string& line :
       {std::string("3 programs: level 3; float32 (2), float16 (1); split train (2), unseen (1)\n"),
        std::string("structures: 2 distinct; rows that repeat an earlier one's: 1 (the most "
                    "frequent is there 2 times)\n"),
        "operators: 4 of " + all + " occur; most often Add (3 steps), least often Sub (0)\n",
        "pairs: 4 of " + std::to_string(summary.all_pairs) + " that can occur; ",
        std::string("depth: median 3, most 3; reads of a result: median 1, most 3\n"),
        std::string("FLOPs: from 2^11 to 2^14, median 2^11; elements of the largest tensor: median "
                    "2^9 (powers rounded down)\n"),
        std::string("examined 3, rejected 2 (67 %): constant (1), unstable (1)\n")}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_EQ(summary_text(coverage_of({chain()})).find("examined"), std::string::npos);
}

TEST(SynthSummary, ManyNamesAreCutShort) {
  std::map<std::string, int64_t> counts;
  for (int i = 0; i < 20; ++i) counts["dtype" + std::to_string(i)] = i;
  EXPECT_TRUE(counts_text(counts).starts_with("dtype19 (19), dtype18 (18), "));
  EXPECT_TRUE(counts_text(counts).ends_with("dtype12 (12) and 12 more"));
  EXPECT_EQ(levels_text({{1, 5}, {20, 7}}), "levels 1 (5), 20 (7)");
}

TEST(SynthPage, IsWellFormedAndShowsTheNumbers) {
  const std::string html = synth_page(sample(), "tasks.jsonl");
  const StrictReader page(html);
  expect_inert(page);
  for (const char* text :
       {"tasks.jsonl what its tasks cover", "3programs", "2distinct structures",
        "rows that repeat an earlier one's: 1", "4 of ", "Conv1d → ReLU: 2", "ReLU → Add: 4",
        "ReLU → Conv1d: 0", "67 %of the programs drawn are rejected2 of 3 examined",
        "Add3"
        "33"
        "67 %constant 1, unstable 1",
        "aaaaConv1d, ReLU, Addagain", "2^9 to below 2^10: 2 (67 %)", "35 % to 40 %: 2 (67 %)",
        "ConvTranspose3d"}) {
    EXPECT_NE(page.text.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(page.text.find("ArgMax →"),
            std::string::npos);  // nobody reads it: no cell, not missing
  for (const char* needle : {"url(", "@import", "<link", "<script", "src="}) {
    EXPECT_EQ(html.find(needle), std::string::npos) << needle;
  }
}

TEST(SynthPage, SpeaksOfRejectedProgramsOnlyWhereSomeWereExamined) {
  const std::string html = synth_page(coverage_of({chain()}), "tasks.jsonl");
  expect_inert(StrictReader(html));
  EXPECT_EQ(html.find("ejected"), std::string::npos);
  Json clean = chain();
  clean["rejected"] = Json::array();
  const StrictReader page(synth_page(coverage_of({clean}), "tasks.jsonl"));
  EXPECT_NE(page.text.find("0 of 1 examined"), std::string::npos);
}

TEST(SynthPage, TextFromOutsideStaysText) {
  Json row = chain();
  for (const char* member : {"id", "dtype", "structure", "split"}) {
    row[member] = row[member].get<std::string>() + kHostile;
  }
  row["rejected"] = Json::array({rejected(kHostile, {"Add"})});
  const SynthCoverage c = coverage_of({row, row});
  const std::string html = synth_page(c, std::string("tasks") + kHostile);
  const StrictReader page(html);
  expect_inert(page);
  for (const char* name : {"tasks", "float32", "train", "chain"}) {
    EXPECT_NE(page.text.find(name + clean_text(kHostile)), std::string::npos) << name;
  }
  Json escapes = chain();
  escapes["dtype"] = "\x1b[31mred\n";
  EXPECT_EQ(summary_text(coverage_of({escapes})).find('\x1b'), std::string::npos);
}

TEST(SynthPage, HistogramsOfWideRangesEndInOneColumn) {
  Json wide = chain();
  for (int i = 1; i < 100; ++i) {
    const std::string name = "x" + std::to_string(i);
    wide["tensors"][name] = Json::array({2});
    wide["steps"].push_back(step("ReLU", {name}, "r" + std::to_string(i)));
    wide["tensors"]["r" + std::to_string(i)] = Json::array({2});
  }
  const StrictReader page(synth_page(coverage_of({chain(), wide}), "tasks.jsonl"));
  expect_inert(page);
  EXPECT_NE(page.text.find("64 and more: 1 (50 %)"), std::string::npos);  // 1 to 64: 100 inputs
}

}  // namespace
}  // namespace kw
