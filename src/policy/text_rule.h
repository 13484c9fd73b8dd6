// What a rule says of a candidate by its text alone, as TritonRL's does before anything is compiled
// (arXiv:2510.17891): that it has Triton kernels, launches one, and calls nothing of PyTorch's that
// computes. A rule is fooled by a name: it decides nothing here, and is there to be compared with
// what candidates do (docs/metrics.md).
#pragma once

#include <string>
#include <string_view>

namespace kw {

// Why `source` breaks the rule, in one line; empty where it does not. Any text, in time in
// proportion to its length.
std::string text_rule(std::string_view source);

}  // namespace kw
