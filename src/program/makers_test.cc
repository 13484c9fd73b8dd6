#include "program/makers.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

bool reads_generator(const std::string& op, const std::map<std::string, Arg>& args) {
  return is_random(AtenCall{op, args, {1}, {}});
}

TEST(Makers, KnowWhichStepsReadTheGenerator) {
  const Arg x = {ValueRef{0}};
  EXPECT_TRUE(reads_generator("aten.randn.default", {{"size", {ArgList{{int64_t{2}}}}}}));
  EXPECT_TRUE(reads_generator("aten.uniform_.default", {{"self", x}}));
  EXPECT_TRUE(reads_generator("aten.native_dropout.default", {{"input", x}, {"p", {0.5}}}));
  EXPECT_FALSE(reads_generator("aten.mul.Tensor", {{"self", x}}));
  const std::map<std::string, std::string> operators = {
      {"aten.scaled_dot_product_attention.default", "dropout_p"}, {"aten.lstm.input", "dropout"}};
  for (const auto& [op, name] : operators) {
    EXPECT_FALSE(reads_generator(op, {{"query", x}})) << op;
    EXPECT_FALSE(reads_generator(op, {{name, {0.0}}})) << op;
    EXPECT_FALSE(reads_generator(op, {{name, {int64_t{0}}}})) << op;
    EXPECT_TRUE(reads_generator(op, {{name, {0.1}}})) << op;
    EXPECT_TRUE(reads_generator(op, {{name, {0.1}}, {"train", {true}}})) << op;
    EXPECT_FALSE(reads_generator(op, {{name, {0.1}}, {"train", {false}}})) << op;
  }
}

}  // namespace
}  // namespace kw
