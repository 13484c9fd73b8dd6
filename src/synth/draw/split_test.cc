// Splits share nothing, and training never sees a pair that is held out.
#include "synth/draw/split.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "formats/base/error.h"
#include "synth/draw/drawn_program.h"

namespace kw {
namespace {

// Drawn without a split, and told apart here by reading their edges.
TEST(Split, SharesAreAsStatedAndPairsAreApart) {
  constexpr int kPrograms = 4000;
  SynthOptions options;
  options.level = 3;
  const Synthesiser synthesiser(options);
  SynthCounts counts;
  std::map<Split, int> of;
  std::map<std::string, Split> by_structure;
  for (uint64_t index = 0; index < kPrograms; ++index) {
    Random random = synthesiser.random(index);
    const Skeleton skeleton = synthesiser.draw(index, 0, random, counts).skeleton;
    const Split split = split_of(skeleton);
    ++of[split];
    const auto [known, fresh] = by_structure.emplace(structure_hash(skeleton), split);
    EXPECT_EQ(known->second, split);
    bool unseen = false;
    for (const SynthStep& step : skeleton) {
      for (const Operand& operand : step.operands) {
        unseen |= operand.step >= 0 && is_held_out(*skeleton[operand.step].op, *step.op);
      }
    }
    EXPECT_EQ(split == Split::kUnseen, unseen);
  }
  const int seen = kPrograms - of[Split::kUnseen];
  EXPECT_GT(of[Split::kUnseen], 0.05 * kPrograms);
  EXPECT_NEAR(of[Split::kTest], 0.05 * seen, 0.015 * seen);
  EXPECT_NEAR(of[Split::kValidation], 0.05 * seen, 0.015 * seen);
}

TEST(Split, OneInTwentyPairsIsHeldOut) {
  int held_out = 0, pairs = 0;
  for (const SynthOperator& first : synth_operators()) {
    if (first.domain == Domain::kArg) continue;  // nothing reads its result
    for (const SynthOperator& second : synth_operators()) {
      ++pairs;
      held_out += is_held_out(first, second);
    }
  }
  EXPECT_NEAR(held_out, 0.05 * pairs, 0.01 * pairs);
}

TEST(Split, IsWhatWasAskedFor) {
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest, Split::kUnseen}) {
    EXPECT_EQ(parse_split(split_name(split)), split);
    SynthOptions options;
    options.level = 4;
    options.split = split;
    const Synthesiser synthesiser(options);
    SynthCounts counts;
    for (uint64_t index = 0; index < 20; ++index) {
      Random random = synthesiser.random(index);
      EXPECT_EQ(split_of(synthesiser.draw(index, 0, random, counts).skeleton), split);
    }
  }
  EXPECT_THROW(parse_split("tset"), InputError);
}

TEST(Cover, GoesThroughAllOperators) {
  SynthOptions options;
  options.level = 1;
  options.cover = true;
  const Synthesiser synthesiser(options);
  SynthCounts counts;
  std::vector<std::string> names;
  for (uint64_t index = 0; index < 120; ++index) {
    Random random = synthesiser.random(index);
    names.emplace_back(synthesiser.draw(index, 0, random, counts).skeleton[0].op->name);
  }
  // All but transposition, which computes nothing; then all of them again, in another order.
  const std::set<std::string> first(names.begin(), names.begin() + 60);
  const std::set<std::string> second(names.begin() + 60, names.end());
  EXPECT_EQ(first.size(), csp_dag_operators().size() - 1);
  EXPECT_FALSE(first.contains("Transpose"));
  EXPECT_EQ(first, second);
  EXPECT_NE(std::vector(names.begin(), names.begin() + 60),
            std::vector(names.begin() + 60, names.end()));
}

TEST(Cover, GoesThroughPairs) {
  SynthOptions options;
  options.level = 2;
  options.cover = true;
  options.operators.clear();
  for (const char* name : {"Add", "ReLU", "Sum", "ArgMax", "Stack"}) {
    options.operators.push_back(find_synth_operator(name));
  }
  const Synthesiser synthesiser(options);
  SynthCounts counts;
  std::set<std::pair<std::string, std::string>> pairs;
  for (uint64_t index = 0; index < 20; ++index) {  // whatever reads ArgMax is none
    Random random = synthesiser.random(index);
    const Skeleton skeleton = synthesiser.draw(index, 0, random, counts).skeleton;
    pairs.emplace(skeleton[0].op->name, skeleton[1].op->name);
  }
  EXPECT_EQ(pairs.size(), 20u);
}

// A word that gives no fair task makes room for another, and the rest of the cycle stays.
TEST(Cover, PassesOverAWord) {
  SynthOptions options;
  options.level = 1;
  options.cover = true;
  const Synthesiser synthesiser(options);
  SynthCounts counts;
  const auto name = [&](uint64_t index, uint64_t before) {
    Random random = synthesiser.random(index);
    return synthesiser.draw(index, before, random, counts).skeleton[0].op->name;
  };
  EXPECT_EQ(name(7, 0), name(7, Synthesiser::kMostOfWord - 1));
  EXPECT_EQ(name(7, Synthesiser::kMostOfWord), name(7 + 60, 0));
}

TEST(Cover, IsForOneAndTwo) {
  SynthOptions options;
  options.level = 3;
  options.cover = true;
  EXPECT_THROW(Synthesiser{options}, InputError);
}

// No program of two operators is in a split that its pair is not in.
TEST(Split, NothingToDrawIsSaid) {
  SynthOptions options;
  options.level = 2;
  options.split = Split::kUnseen;
  for (const SynthOperator& op : synth_operators()) {
    if (is_held_out(op, op) || op.domain == Domain::kArg) continue;
    options.operators = {&op};
    break;
  }
  SynthCounts counts;
  const Synthesiser synthesiser(options);
  Random random = synthesiser.random(0);
  EXPECT_THROW(synthesiser.draw(0, 0, random, counts), InputError);
  options.cover = true;
  EXPECT_THROW(Synthesiser{options}, InputError);
}

}  // namespace
}  // namespace kw
