#include "report/markup/line_diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kw {
namespace {

using Kind = DiffLine::Kind;
using Lines = std::vector<std::string>;

std::string text_of(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// The longest common subsequence, by trying all subsets of the shorter text's lines.
size_t longest_common(const Lines& a, const Lines& b) {
  size_t best = 0;
  for (unsigned taken = 0; taken < 1u << a.size(); ++taken) {
    size_t at = 0, count = 0;
    bool fits = true;
    for (size_t i = 0; i < a.size() && fits; ++i) {
      if (!(taken >> i & 1)) continue;
      const auto found = std::find(b.begin() + static_cast<ptrdiff_t>(at), b.end(), a[i]);
      fits = found != b.end();
      at = static_cast<size_t>(found - b.begin()) + 1;
      ++count;
    }
    if (fits) best = std::max(best, count);
  }
  return best;
}

TEST(LineDiff, MakesOneTextOfTheOtherByTheFewestLines) {
  std::mt19937 random(5);
  const auto drawn = [&] {
    Lines lines(random() % 9);
    for (std::string& line : lines) line = std::string(random() % 3, 'a');
    return lines;
  };
  for (int i = 0; i < 500; ++i) {
    const Lines before = drawn(), after = drawn();
    const std::string a = text_of(before), b = text_of(after);
    Lines left, right;
    size_t same = 0;
    for (const DiffLine& line : line_diff(a, b)) {
      if (line.kind != Kind::kAdded) left.emplace_back(line.text);
      if (line.kind != Kind::kRemoved) right.emplace_back(line.text);
      same += line.kind == Kind::kSame;
    }
    ASSERT_EQ(left, before);
    ASSERT_EQ(right, after);
    ASSERT_EQ(same, longest_common(before, after));
  }
}

TEST(LineDiff, OfTextsThatAreTooLong) {
  Lines before(3000), after(3000);
  for (size_t i = 0; i < before.size(); ++i) {
    before[i] = "b" + std::to_string(i), after[i] = "a" + std::to_string(i);
  }
  before.front() = after.front() = "the first";
  const std::string a = text_of(before), b = text_of(after);
  const std::vector<DiffLine> lines = line_diff(a, b);
  ASSERT_EQ(lines.size(), 5999u);
  EXPECT_EQ(lines[0].kind, Kind::kSame);
  EXPECT_EQ(lines[1].kind, Kind::kRemoved);
  EXPECT_EQ(lines.back().text, "a2999");
}

TEST(LineDiff, OfNoText) {
  EXPECT_TRUE(line_diff("", "").empty());
  ASSERT_EQ(line_diff("", "x").size(), 1u);
  EXPECT_EQ(line_diff("", "x")[0].kind, Kind::kAdded);
}

}  // namespace
}  // namespace kw
