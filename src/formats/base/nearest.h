// Which of several known names a misspelled one is nearest to, for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw {

// Returns the number of letters added, removed or exchanged (the Levenshtein distance).
size_t distance(std::string_view a, std::string_view b);

// Returns the first of the known names at the least distance; empty if there are none.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace kw
