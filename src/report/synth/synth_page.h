// The page on what a file of synthesised tasks covers: self-contained, readable offline.
#pragma once

#include <string>

#include "report/synth/synth_coverage.h"

namespace kw {

// `file` names the tasks. Of one program at least. All text from the file is escaped.
std::string synth_page(const SynthCoverage& coverage, const std::string& file);

}  // namespace kw
