#include "executor/device/launch_params.h"

#include <gtest/gtest.h>

#include <cstring>

#include "executor/device/test_backend.h"
#include "formats/base/error.h"

namespace kw::exec {
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

// A 16 x 32 view with rows 40 elements apart, moved in blocks of 8 x 16.
Kernel descriptor_kernel() {
  Kernel kernel =
      make_kernel("k", {"tensordesc<fp16[8, 16]>", "i32", "i32", "i64", "i64", "fp32"}, {0});
  kernel.compiled->descriptors = {
      {.swizzle = 1, .element_type = 6, .element_bytes = 2, .block = {8, 16}}};
  return kernel;
}

Launch descriptor_launch(int64_t last_stride) {
  return {0,
          {1, 1, 1},
          {{ValueRef{0}}, {int64_t{16}}, {int64_t{32}}, {int64_t{40}}, {last_stride}, {1.0}}};
}

// Sizes, strides and box as the CUDA driver's documentation orders them: innermost first, strides
// in bytes and without the innermost.
TEST(LaunchParams, DescriptorsBecomeTensorMaps) {
  const auto maps = tensor_maps(descriptor_kernel(), descriptor_launch(1));
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].arg, 0u);
  EXPECT_EQ(maps[0].rank, 2);
  EXPECT_EQ(maps[0].swizzle, 1);
  EXPECT_EQ(maps[0].element_type, 6);
  EXPECT_EQ(maps[0].sizes, (std::array<uint64_t, 5>{32, 16}));
  EXPECT_EQ(maps[0].strides, (std::array<uint64_t, 5>{80}));
  EXPECT_EQ(maps[0].box, (std::array<uint32_t, 5>{16, 8}));
  EXPECT_EQ(divisibility(descriptor_kernel(), 0), 16);
}

TEST(LaunchParams, ADescriptorTakesAWholeTensorMap) {
  LaunchParams params(descriptor_kernel(), descriptor_launch(1));
  ASSERT_EQ(params.count(), 8u) << "descriptor, shape, strides, a number, two scratch pointers";
  std::array<std::byte, 128> map;
  map.fill(std::byte{0x5a});
  params.set_tensor_map(0, map.data());
  EXPECT_EQ(std::memcmp(params.addresses()[0], map.data(), 128), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(params.addresses()[0]) % 64, 0u);
  uint64_t row = 0;
  std::memcpy(&row, params.addresses()[3], 8);
  EXPECT_EQ(row, 40u);
}

TEST(LaunchParams, DescriptorsThatDoNotFitAreRefused) {
  EXPECT_THROW(tensor_maps(descriptor_kernel(), descriptor_launch(2)), InputError);
  Kernel kernel = descriptor_kernel();
  kernel.compiled->descriptors.clear();
  EXPECT_THROW(tensor_maps(kernel, descriptor_launch(1)), InputError);
  kernel = descriptor_kernel();
  kernel.compiled->descriptors[0].block = {8, 16, 4};
  EXPECT_THROW(tensor_maps(kernel, descriptor_launch(1)), InputError);
  Launch launch = descriptor_launch(1);
  launch.args[0] = {};
  EXPECT_THROW(tensor_maps(descriptor_kernel(), launch), InputError);
  launch = descriptor_launch(1);
  launch.args[1] = {int64_t{-1}};
  EXPECT_THROW(tensor_maps(descriptor_kernel(), launch), InputError);
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
}  // namespace kw::exec
