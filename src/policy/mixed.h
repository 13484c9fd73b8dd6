// Several policies as one: all are asked, and their best guesses alternate. Owns them.
#pragma once

#include <memory>
#include <vector>

#include "policy/policy.h"

namespace kw {

// Makes the mixed policy. Each policy is asked for its share of `count` proposals, rounded up. A
// single policy is returned as it is.
std::unique_ptr<Policy> make_mixed(std::vector<std::unique_ptr<Policy>> policies);

}  // namespace kw
