// The checks of a verdict, by name.
//
// Only `kernelwright selftest` leaves checks out (VerifyOptions::without). If an attack is accepted
// without them, and only then, these checks catch it, and not something else that is wrong with it.
// Some checks cannot be left out, because nothing could go on without them, for instance after a
// kernel that cannot be sliced. For those the worker's refusal must name the check.
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
