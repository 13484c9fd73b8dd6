// Two texts, line by line. Pure functions: any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct DiffLine {
  enum class Kind { kSame, kRemoved, kAdded };
  Kind kind = Kind::kSame;
  std::string_view text;  // without its end; a part of `before`, or of `after` if it was added
};

// Returns the fewest removed and added lines that turn `before` into `after`. At one place, removed
// lines come before added ones. If the parts that differ have more than 4 million pairs of lines,
// they are not aligned: all their lines are removed and added. Borrows both texts.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after);

}  // namespace kw
