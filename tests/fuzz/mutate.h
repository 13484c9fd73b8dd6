// Deterministic damage for the driver: a small stand-in for libFuzzer's mutations.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace kw {

// A few mutations of a member of `seeds` (not empty): flipped bits, bytes cut out, pieces of other
// seeds, tokens of JSON copied, exchanged and replaced by awkward ones. At most 1 MB long.
std::string mutated(const std::vector<std::string>& seeds, std::mt19937_64& random);

}  // namespace kw
