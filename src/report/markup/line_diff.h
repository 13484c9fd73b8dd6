// Two texts, line by line. Pure functions: any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct DiffLine {
  enum class Kind { kSame, kRemoved, kAdded };
  Kind kind = Kind::kSame;
  std::string_view text;  // without its end; of `before` but where it was added
};

// The fewest removed and added lines that make `after` of `before`, removed ones first where both
// stand. Texts whose differing parts have more than 4 million pairs of lines are not aligned: of
// these all lines are removed, and all added. Borrows both.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after);

}  // namespace kw
