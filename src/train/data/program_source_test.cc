// Whether programs of a level have sizes in a window is found out before a run begins.
#include "train/data/program_source.h"

#include <gtest/gtest.h>

#include <cmath>

#include "formats/base/error.h"

namespace kw::train {
namespace {

ProgramOptions options_of(std::vector<int> levels, double log_low, double log_high,
                          double log_elements) {
  ProgramOptions out;
  out.levels = std::move(levels);
  out.limits = {{.tensor = std::exp2(log_elements),
                 .total = 4 * std::exp2(log_elements),
                 .low_flops = std::exp2(log_low),
                 .high_flops = std::exp2(log_high)}};
  return out;
}

std::string refusal(const ProgramOptions& options) {
  try {
    check_drawable(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Forty operators in a thousand FLOPs: draws take minutes, if they end at all.
TEST(Drawable, SaysWhichLevelHasNoSizesInWhichWindow) {
  ProgramOptions options = options_of({1, 40}, 34, 35, 30);
  options.limits.push_back(options_of({}, 10, 11, 5).limits[0]);
  const std::string said = refusal(options);
  EXPECT_NE(said.find("of 40 operators (data.levels, data.operators) with 2^10 to 2^11 FLOPs"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("at most 2^5 elements"), std::string::npos) << said;
}

TEST(Drawable, TakesWhatIsRare) {
  EXPECT_EQ(refusal(options_of({40}, 12, 14, 30)), "");  // one skeleton in 35,000
  EXPECT_EQ(refusal(options_of({30}, 10, 11, 8)), "");   // one in 40,000
}

// Of forty operators that are rare, there are two hundred times fewer for validation.
TEST(Drawable, HangsOnTheSplit) {
  ProgramOptions options = options_of({1, 2, 5, 20, 40}, 34, 35, 30);
  options.split = Split::kValidation;
  EXPECT_EQ(refusal(options), "");
  options.limits = options_of({}, 10, 12, 30).limits;
  EXPECT_NE(refusal(options).find("of 40 operators"), std::string::npos);
}

}  // namespace
}  // namespace kw::train
