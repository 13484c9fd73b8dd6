// The checks of a verdict, by name.
//
// Those that can be left out are left out by `kernelwright selftest` alone
// (VerifyOptions::without): that an attack is accepted then, and only then, shows that it is these
// checks which catch it, and not something else that happens to be wrong with it. Without the
// others there is nothing that could go on (a kernel that cannot be sliced); of them the worker's
// refusal must be the one named.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "verify/verdict/verdict.h"

namespace kw {

// Names of checks.
using CheckNames = std::set<std::string, std::less<>>;

struct Check {
  std::string_view name;  // of a worker's refusal: its code (docs/formats/protocol.md)
  Stage stage;            // at which it rejects
  bool optional;          // can be left out
  std::string_view what;  // one line
};

const std::vector<Check>& checks();
// Null when there is none of that name.
const Check* find_check(std::string_view name);

}  // namespace kw
