// The tables of rules against the table of operators.
#include "teacher/lower/rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ops/operator.h"

namespace kw::teacher {
namespace {

std::string base_of(std::string_view op) { return std::string(op.substr(0, op.rfind('.'))); }

TEST(LoweringRules, EachIsForAnOperatorOfTheTable) {
  std::set<std::string, std::less<>> known;
  for (const OperatorRow& row : operator_table()) {
    known.emplace(row.name);
    known.insert(base_of(row.name));
  }
  for (const LoweringRule& rule : lowering_rules()) {
    EXPECT_TRUE(known.contains(rule.op)) << rule.op;
  }
}

TEST(LoweringRules, NoOperatorHasTwo) {
  std::set<std::string_view> seen;
  for (const LoweringRule& rule : lowering_rules()) {
    EXPECT_TRUE(seen.insert(rule.op).second) << rule.op;
  }
}

TEST(LoweringRules, TheRuleOfAnOverloadComesBeforeThatOfItsOperator) {
  const LoweringRule* scalar = find_rule("aten.remainder.Scalar");
  const LoweringRule* tensor = find_rule("aten.remainder.Tensor");
  ASSERT_TRUE(scalar && tensor);
  EXPECT_EQ(scalar->op, "aten.remainder.Scalar");
  EXPECT_EQ(tensor->op, "aten.remainder");
}

TEST(LoweringRules, AnUnknownOperatorHasNone) {
  EXPECT_EQ(find_rule("aten.trace.default"), nullptr);
  EXPECT_EQ(find_rule("aten.view.dtype"), nullptr);
}

}  // namespace
}  // namespace kw::teacher
