#include "search/nothing_gained.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(NothingGained, AWholeProgramThatIsNoFasterIsAFinding) {
  const SearchFindings findings = {.whole = NothingGained::kNoFaster,
                                   .whole_reason = "nothing can be gained: no faster",
                                   .stopped_early = true};
  EXPECT_EQ(why_nothing(findings), NothingGained::kNoFaster);
  EXPECT_EQ(explain(findings), "nothing can be gained: no faster");
}

TEST(NothingGained, AWholeProgramThatFailedSaysWhyAndWhetherTheSearchWasCut) {
  SearchFindings findings = {
      .whole = NothingGained::kFailedAsAWhole, .whole_reason = "numerics: off", .written = 3};
  EXPECT_EQ(explain(findings),
            "PyTorch's own kernels are kept: what was found failed as a whole (numerics: off)");
  findings.stopped_early = true;
  EXPECT_EQ(explain(findings),
            "PyTorch's own kernels are kept: what was found failed as a whole (numerics: off); the "
            "search was cut short");
}

TEST(NothingGained, OperatorsWithoutKernelsComeBeforeTheBudgetsEnd) {
  SearchFindings findings = {.uncovered = {"relu", "silu"}, .offered = 2};
  EXPECT_EQ(why_nothing(findings), NothingGained::kNoKernelsFor);
  EXPECT_EQ(explain(findings), "no right kernels were found for relu, silu");
  findings.stopped_early = true;
  EXPECT_EQ(explain(findings),
            "no right kernels were found for relu, silu; the search was cut short");
}

TEST(NothingGained, ASearchThatWasCutShortFindsNothing) {
  SearchFindings findings = {
      .stopped_early = true, .not_judged = "not judged: late", .offered = 1, .written = 4};
  EXPECT_EQ(explain(findings),
            "the budget ended before a faster program was found: of 4 that were written none is "
            "right");
  findings.right = 1;
  EXPECT_EQ(explain(findings), "the budget ended before a faster program was found");
  findings.interrupted = true;
  EXPECT_EQ(why_nothing(findings), NothingGained::kInterrupted);
  EXPECT_EQ(explain(findings), "stopped before a faster program was found");
}

TEST(NothingGained, ACompleteSearchSaysWhatItFound) {
  SearchFindings findings;
  EXPECT_EQ(why_nothing(findings), NothingGained::kNothingOffered);
  EXPECT_EQ(explain(findings),
            "nothing can be gained: the policy can write no part of this program");
  findings.offered = 2;
  EXPECT_EQ(why_nothing(findings), NothingGained::kNothingFaster);
  EXPECT_EQ(explain(findings), "nothing can be gained: PyTorch's own kernels are kept");
  findings.written = 5;
  EXPECT_EQ(why_nothing(findings), NothingGained::kNoneRight);
  EXPECT_EQ(explain(findings),
            "PyTorch's own kernels are kept: of 5 that were written none is right (report.html "
            "says why)");
  findings.right = 2;
  EXPECT_EQ(why_nothing(findings), NothingGained::kNothingFaster);
  findings.not_judged = "not judged: no answer";
  EXPECT_EQ(explain(findings), "PyTorch's own kernels are kept: not judged: no answer");
}

}  // namespace
}  // namespace kw
