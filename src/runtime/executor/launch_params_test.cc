#include "runtime/executor/launch_params.h"

#include <gtest/gtest.h>

#include <cstring>

#include "formats/error.h"
#include "runtime/executor/test_backend.h"

namespace kw {
namespace {

uint64_t bits(std::string_view type, Arg value) {
  uint64_t out = 0;
  const auto bytes = encode_scalar(type, value);
  std::memcpy(&out, bytes.data(), 8);
  return out;
}

// Bit patterns from IEEE 754 and two's complement.
TEST(LaunchParams, ScalarsTakeTheirSignaturesWidth) {
  EXPECT_EQ(bits("i1", {true}), 1u);
  EXPECT_EQ(bits("i8", {int64_t{-1}}), 0xffu);
  EXPECT_EQ(bits("i16", {int64_t{-2}}), 0xfffeu);
  EXPECT_EQ(bits("i32", {int64_t{-1}}), 0xffffffffu);
  EXPECT_EQ(bits("i64", {int64_t{-1}}), ~uint64_t{0});
  EXPECT_EQ(bits("u8", {int64_t{255}}), 255u);
  EXPECT_EQ(bits("u32", {int64_t{4294967295}}), 0xffffffffu);
  EXPECT_EQ(bits("fp16", {1.0}), 0x3c00u);
  EXPECT_EQ(bits("fp16", {-2.0}), 0xc000u);
  EXPECT_EQ(bits("bf16", {1.0}), 0x3f80u);
  EXPECT_EQ(bits("fp32", {0.1}), 0x3dcccccdu);
  EXPECT_EQ(bits("fp32", {int64_t{1}}), 0x3f800000u);
  EXPECT_EQ(bits("fp64", {0.1}), 0x3fb999999999999aull);
}

TEST(LaunchParams, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(bits("i8", {int64_t{128}}), InputError);
  EXPECT_THROW(bits("u8", {int64_t{-1}}), InputError);
  EXPECT_THROW(bits("i32", {int64_t{1} << 31}), InputError);
  EXPECT_THROW(bits("i32", {0.5}), InputError);
  EXPECT_THROW(bits("fp32", {std::string("x")}), InputError);
  EXPECT_THROW(bits("tensordesc", {int64_t{1}}), InputError);
}

TEST(LaunchParams, PointersAndScratchFollowInOrder) {
  Kernel kernel = make_kernel("k", {"*fp32", "i32", "constexpr", "*i64"}, {0});
  Launch launch{0, {1, 1, 1}, {{ValueRef{0}}, {int64_t{7}}, {}}};
  LaunchParams params(kernel, launch);
  ASSERT_EQ(params.count(), 5u);
  int a = 0, b = 0;
  params.set_pointer(0, &a);
  params.set_scratch(&b, nullptr);
  const auto at = [&](size_t i) {
    uint64_t out;
    std::memcpy(&out, params.addresses()[i], 8);
    return out;
  };
  EXPECT_EQ(at(0), reinterpret_cast<uint64_t>(&a));
  EXPECT_EQ(at(1), 7u);
  EXPECT_EQ(at(2), 0u) << "a null pointer is allowed";
  EXPECT_EQ(at(3), reinterpret_cast<uint64_t>(&b));
  EXPECT_EQ(at(4), 0u);
  EXPECT_THROW(LaunchParams(kernel, Launch{0, {1, 1, 1}, {{ValueRef{0}}}}), InputError);
  EXPECT_THROW(LaunchParams(kernel, Launch{0, {1, 1, 1}, {{int64_t{1}}, {int64_t{7}}, {}}}),
               InputError);
}

TEST(LaunchParams, NumbersMustBeDivisibleAsSpecialised) {
  Kernel kernel = make_kernel("k", {"*fp32", "i32"}, {0});
  kernel.attrs = Json::parse(R"({"1": [["tt.divisibility", 16]]})");
  EXPECT_EQ(divisibility(kernel, 1), 16);
  EXPECT_EQ(divisibility(kernel, 0), 1);
  EXPECT_NO_THROW(check_specialization(kernel, {0, {1, 1, 1}, {{ValueRef{0}}, {int64_t{32}}}}));
  EXPECT_THROW(check_specialization(kernel, {0, {1, 1, 1}, {{ValueRef{0}}, {int64_t{33}}}}),
               InputError);
}

}  // namespace
}  // namespace kw
