#include "ops/operator.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>

#include "ops/dtype.h"

namespace kw {
namespace {

TEST(OperatorTable, NamesAreUniqueAndFound) {
  std::set<std::string_view> seen;
  for (const OperatorRow& row : operator_table()) {
    EXPECT_TRUE(seen.insert(row.name).second) << row.name << " twice";
    EXPECT_EQ(find_operator(row.name), &row);
  }
  EXPECT_EQ(find_operator("aten.no_such.default"), nullptr);
  EXPECT_EQ(find_operator(""), nullptr);
}

TEST(OperatorTable, SchemaIsTakenApart) {
  const Schema& add = operator_schema(*find_operator("aten.add.Tensor"));
  ASSERT_EQ(add.args.size(), 3u);
  EXPECT_EQ(add.args[0].name, "self");
  EXPECT_EQ(add.args[2].name, "alpha");
  EXPECT_EQ(add.args[2].default_text, "1");
  EXPECT_TRUE(add.args[2].kwarg_only);
  EXPECT_FALSE(add.args[1].kwarg_only);
  const Schema& fill = operator_schema(*find_operator("aten.fill_.Scalar"));
  EXPECT_TRUE(fill.args[0].written);
  EXPECT_EQ(fill.args[0].type, "Tensor");
  const Schema& norm = operator_schema(*find_operator("aten.native_layer_norm.default"));
  EXPECT_EQ(norm.results, (std::vector<std::string>{"Tensor", "Tensor", "Tensor"}));
  const Schema& sum = operator_schema(*find_operator("aten.sum.dim_IntList"));
  EXPECT_EQ(sum.args[1].type, "int[]?");
}

// Every operand that an expression names is an argument of its schema.
TEST(OperatorTable, ExpressionsNameSchemaArguments) {
  for (const OperatorRow& row : operator_table()) {
    const Schema& schema = operator_schema(row);
    for (size_t at = row.triton.find('{'); at != row.triton.npos;
         at = row.triton.find('{', at + 1)) {
      const std::string_view name = row.triton.substr(at + 1, row.triton.find('}', at) - at - 1);
      const bool known = std::any_of(schema.args.begin(), schema.args.end(),
                                     [&](const SchemaArg& arg) { return arg.name == name; });
      EXPECT_TRUE(known) << row.name << " has no argument " << name;
    }
  }
}

TEST(DType, PromotionIsCommutativeAndIdempotent) {
  for (int a = 0; a <= static_cast<int>(DType::kComplex128); ++a) {
    for (int b = 0; b <= static_cast<int>(DType::kComplex128); ++b) {
      const DType x = static_cast<DType>(a), y = static_cast<DType>(b);
      EXPECT_EQ(promote(x, y), promote(y, x));
      EXPECT_EQ(promote(promote(x, y), y), promote(x, y));
    }
  }
  EXPECT_EQ(promote(DType::kFloat16, DType::kBFloat16), DType::kFloat32);
  EXPECT_EQ(promote(DType::kInt64, DType::kFloat16), DType::kFloat16);
}

// In place or not, an operator has one class of work.
TEST(WorkRow, IsOfTheOperatorThatMakesItsResult) {
  EXPECT_EQ(work_row(*find_operator("aten.addmm_.default")).name, "aten.addmm.default");
  EXPECT_EQ(work_row(*find_operator("aten.add.Tensor")).name, "aten.add.Tensor");
  EXPECT_EQ(work_row(*find_operator("aten.copy_.default")).name, "aten.copy_.default");
  // None is left to count as arithmetic of constructors that computes by a row of its own.
  for (const OperatorRow& row : operator_table()) {
    if (row.cls == OpClass::kMatmul || row.cls == OpClass::kScan) {
      const size_t overload = row.name.rfind('.');
      const auto* in_place = find_operator(std::string(row.name).insert(overload, "_"));
      if (!in_place) continue;
      EXPECT_EQ(work_row(*in_place).cls, row.cls) << in_place->name;
    }
  }
}

// A fused operator's steps are operators, and in the end such as replace nothing.
TEST(OperatorTable, StepsAreOperators) {
  std::function<int(const OperatorRow&, int)> steps_of = [&](const OperatorRow& row, int depth) {
    EXPECT_LT(depth, 5) << row.name;
    int count = 0;
    std::istringstream names{std::string(row.steps)};
    for (std::string name; depth < 5 && names >> name;) {
      const OperatorRow* step = find_operator("aten." + name);
      EXPECT_NE(step, nullptr) << row.name << ": " << name;
      if (step) count += step->steps.empty() ? 1 : steps_of(*step, depth + 1);
    }
    return count;
  };
  int fused = 0;
  for (const OperatorRow& row : operator_table()) {
    if (row.steps.empty()) continue;
    ++fused;
    EXPECT_GE(steps_of(row, 0), 1) << row.name;
  }
  EXPECT_GT(fused, 50);
}

}  // namespace
}  // namespace kw
