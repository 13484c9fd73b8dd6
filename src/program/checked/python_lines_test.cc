#include "program/checked/python_lines.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw {
namespace {

using Tokens = std::vector<std::string_view>;

TEST(PythonLines, EndOutsideOfBracketsAndStrings) {
  const std::string_view text =
      "x = [1,\n2]  # ]\n\n  y = '''\nimport a\n'''\nz = 3 + \\\n4\n# end\nr\"\\\"\"";
  const std::vector<LogicalLine> lines = logical_lines(text);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].tokens, (Tokens{"x", "=", "[", "1", ",", "2", "]"}));
  EXPECT_EQ(lines[1].tokens, (Tokens{"y", "=", "'''\nimport a\n'''"}));
  EXPECT_TRUE(lines[1].indented && !lines[0].indented && !lines[2].indented);
  EXPECT_EQ(lines[2].tokens, (Tokens{"z", "=", "3", "+", "4"}));
  EXPECT_EQ(lines[3].tokens, (Tokens{"r", "\"\\\"\""}));
  EXPECT_EQ(text.substr(lines[0].begin, lines[0].end - lines[0].begin), "x = [1,\n2]  # ]");
}

TEST(PythonLines, WhatDoesNotEndIsRefused) {
  for (const char* text : {"'a", "\"\"\"a\"\"", "\"\"\"a\\\"\"\"", "'a\\'", "(", "[)]]", ")", "\\",
                           "x \\ y", "\\\nx = 1", "  \\\nx", "'a\nb'"}) {
    EXPECT_THROW(logical_lines(text), InputError) << text;
  }
}

// Python 3.12 reads f"{x["#"]}" as one string, Python 3.11 as a string and a comment.
TEST(PythonLines, FStringsMeanTheSameToEveryPython) {
  for (const char* text : {"f\"{x[\"#\"]}\"", "rf'{x'", "F\"}}{\"", "f'{x}}'", "f\"\\{\"", "t'{\"'",
                           "f'''{'''", "f\"{'a'}\""}) {
    EXPECT_THROW(logical_lines(text), InputError) << text;
  }
  for (const char* text : {"f\"x = {x:.2}\"", "f''", "f'''{x}\n'''", "'{'", "r'\\{'", "f'{{x}}'"}) {
    EXPECT_EQ(logical_lines(text).size(), 1u) << text;
  }
}

}  // namespace
}  // namespace kw
