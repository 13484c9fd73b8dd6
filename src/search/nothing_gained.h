// Why a search ended without a faster program, and how people are told. Pure functions.
//
// "Nothing can be gained" is a finding; a search that was cut short makes none.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kw {

enum class NothingGained {
  kNoFaster,        // the whole program is right, and no faster than PyTorch
  kFailedAsAWhole,  // a whole program failed, though its parts had passed
  kNoKernelsFor,    // some operators have no right kernels, and no PyTorch may be left
  kInterrupted,     // the user ended the search
  kBudgetEnded,     // the time ended before there was a whole program
  kNotJudged,       // some proposals could not be judged
  kNothingOffered,  // the policy can write no part of the program
  kNoneRight,       // the policy wrote proposals, and none was right
  kNothingFaster,   // no fragment is faster than PyTorch
};

// What a search found, as far as the reason depends on it.
struct SearchFindings {
  // How the last cover failed that was tried as a whole program: kNoFaster or kFailedAsAWhole; none
  // if no cover was tried.
  std::optional<NothingGained> whole;
  std::string whole_reason;            // why it failed
  std::vector<std::string> uncovered;  // operators without right kernels, if no PyTorch may be left
  bool stopped_early = false;          // the budget or an interrupt cut the search short
  bool interrupted = false;
  std::string not_judged;  // a reason why a proposal was not judged; empty if there is none
  size_t offered = 0;      // fragments that the policy can write
  size_t written = 0;      // proposals with a text
  size_t right = 0;        // accepted proposals
};

NothingGained why_nothing(const SearchFindings& findings);

// Returns the reason in a line for people.
std::string explain(const SearchFindings& findings);

}  // namespace kw
