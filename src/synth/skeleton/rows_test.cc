#include "synth/skeleton/rows.h"

#include <gtest/gtest.h>

#include <set>

#include "ops/operator.h"

namespace kw {
namespace {

TEST(SynthRows, EveryCallIsMadeOfRowsThatAreThere) {
  std::set<std::string_view> names;
  for (const SynthOperator& op : synth_operators()) {
    EXPECT_TRUE(names.insert(op.name).second) << op.name << " twice";
    EXPECT_EQ(find_synth_operator(op.name), &op);
    EXPECT_FALSE(rows_of(op).empty()) << op.name;
    for (const OperatorRow* row : rows_of(op)) {
      ASSERT_NE(row, nullptr) << op.name << ": " << op.rows;
      EXPECT_TRUE(not_drawn(*row).empty()) << row->name << " is drawn, and has a reason";
    }
  }
  EXPECT_EQ(find_synth_operator("NoSuch"), nullptr);
  EXPECT_EQ(csp_dag_operators().size(), 61u);  // docs/synthesis.md
}

TEST(SynthRows, EveryRowIsDrawnOrHasAReason) {
  std::set<const OperatorRow*> drawn;
  for (const SynthOperator& op : synth_operators()) {
    drawn.insert(rows_of(op).begin(), rows_of(op).end());
  }
  for (const OperatorRow& row : operator_table()) {
    EXPECT_NE(drawn.contains(&row), !not_drawn(row).empty()) << row.name;
  }
}

}  // namespace
}  // namespace kw
