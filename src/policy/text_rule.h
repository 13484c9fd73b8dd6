// A rule on a candidate's text, like TritonRL's before compilation (arXiv:2510.17891). The text
// must have Triton kernels, launch one, and call no PyTorch function that computes. Names can fool
// such a rule, so it decides nothing here: its findings are compared with what candidates do
// (docs/metrics.md).
#pragma once

#include <string>
#include <string_view>

namespace kw {

// Returns why `source` breaks the rule, in one line, or an empty string. Accepts any text. Takes
// time in proportion to its length.
std::string text_rule(std::string_view source);

}  // namespace kw
