// The checks of a verdict, by name.
//
// Each can be left out, one at a time and by `kernelwright selftest` alone
// (VerifyOptions::without): that an attack is accepted then, and only then, shows that it is this
// check which catches it, and not something else that happens to be wrong with it.
#pragma once

#include <string_view>
#include <vector>

#include "verify/verdict.h"

namespace kw {

struct Check {
  std::string_view name;  // of a worker's refusal: its code (docs/formats/protocol.md)
  Stage stage;            // at which it rejects
  bool needs_gpu;
  std::string_view what;  // one line
};

const std::vector<Check>& checks();
// Null when there is none of that name.
const Check* find_check(std::string_view name);

}  // namespace kw
