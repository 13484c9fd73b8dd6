// What forward returns, for messages.
#pragma once

#include <string>

#include "formats/json.h"

namespace kw {

// Returns a checked Tree of docs/formats/task.md as people write it in Python: "(output 0, [1.5])".
std::string tree_text(const Json& tree);

}  // namespace kw
