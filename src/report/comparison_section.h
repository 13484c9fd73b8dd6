// Two policies compared, as a section of a page.
#pragma once

#include <string>
#include <vector>

#include "eval/run/run_comparison.h"
#include "report/markup/markup.h"

namespace kw {

// Writes a section with this `id` and heading; `note` is what else must be known, and may be empty.
void write_comparison(Markup& out, const std::string& id, const std::string& heading,
                      const std::vector<RunComparison>& comparisons, const std::string& note = "");

}  // namespace kw
