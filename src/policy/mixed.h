// Several policies as one: all are asked, their best guesses alternate. Owns them.
#pragma once

#include <memory>
#include <vector>

#include "policy/policy.h"

namespace kw {

// Of `count` proposals each policy is asked for its share, rounded up. A single policy is returned
// as it is.
std::unique_ptr<Policy> make_mixed(std::vector<std::unique_ptr<Policy>> policies);

}  // namespace kw
