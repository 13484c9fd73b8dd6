#include "search/nothing_gained.h"

namespace kw {
namespace {

std::string none_of_written(const SearchFindings& findings) {
  return "of " + std::to_string(findings.written) + " that were written none is right";
}

bool none_right(const SearchFindings& findings) {
  return findings.written > 0 && findings.right == 0;
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

NothingGained why_nothing(const SearchFindings& findings) {
  if (findings.whole) return *findings.whole;
  if (!findings.uncovered.empty()) return NothingGained::kNoKernelsFor;
  if (findings.stopped_early) {
    return findings.interrupted ? NothingGained::kInterrupted : NothingGained::kBudgetEnded;
  }
  if (!findings.not_judged.empty()) return NothingGained::kNotJudged;
  if (findings.offered == 0) return NothingGained::kNothingOffered;
  return none_right(findings) ? NothingGained::kNoneRight : NothingGained::kNothingFaster;
}

std::string explain(const SearchFindings& findings) {
  const std::string cut = findings.stopped_early ? "; the search was cut short" : "";
  const std::string unfinished = none_right(findings) ? ": " + none_of_written(findings) : "";
  switch (why_nothing(findings)) {
    case NothingGained::kNoFaster:
      return findings.whole_reason;
    case NothingGained::kFailedAsAWhole:
      return "PyTorch's own kernels are kept: what was found failed as a whole (" +
             findings.whole_reason + ")" + cut;
    case NothingGained::kNoKernelsFor:
      return "no right kernels were found for " + joined_names(findings.uncovered) + cut;
    case NothingGained::kInterrupted:
      return "stopped before a faster program was found" + unfinished;
    case NothingGained::kBudgetEnded:
      return "the budget ended before a faster program was found" + unfinished;
    case NothingGained::kNotJudged:
      return "PyTorch's own kernels are kept: " + findings.not_judged;
    case NothingGained::kNothingOffered:
      return "nothing can be gained: the policy can write no part of this program";
    case NothingGained::kNoneRight:
      return "PyTorch's own kernels are kept: " + none_of_written(findings) +
             " (report.html says why)";
    case NothingGained::kNothingFaster:
      return "nothing can be gained: PyTorch's own kernels are kept";
  }
  return "";
}

}  // namespace kw
