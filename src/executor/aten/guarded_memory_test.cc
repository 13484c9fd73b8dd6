#include "executor/aten/guarded_memory.h"

#include <gtest/gtest.h>

#include <random>

namespace kw::exec {
namespace {

class GuardsTest : public testing::Test {
 protected:
  c10::InferenceMode inference_;
  Guards guards_{at::kCPU};
};

char* bytes(const at::Tensor& tensor) {
  return static_cast<char*>(tensor.storage().mutable_data());
}

TEST(DTypes, PromoteAsInPyTorch) {
  for (int a = 0; a <= static_cast<int>(DType::kComplex128); ++a) {
    for (int b = 0; b <= static_cast<int>(DType::kComplex128); ++b) {
      const auto x = static_cast<DType>(a), y = static_cast<DType>(b);
      EXPECT_EQ(scalar_type(promote(x, y)), c10::promoteTypes(scalar_type(x), scalar_type(y)))
          << dtype_name(x) << ", " << dtype_name(y);
      EXPECT_EQ(dtype_bytes(x), static_cast<int64_t>(c10::elementSize(scalar_type(x))));
    }
    EXPECT_EQ(dtype_of(scalar_type(static_cast<DType>(a))), static_cast<DType>(a));
  }
}

TEST_F(GuardsTest, NewBuffersArePoison) {
  for (at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    EXPECT_TRUE(guards_.empty({3, 5}, {5, 1}, type).isnan().all().item<bool>());
  }
  EXPECT_GT(guards_.empty({7}, {1}, at::kInt).min().item<int64_t>(), int64_t{1} << 30);
  EXPECT_GT(guards_.empty({7}, {1}, at::kLong).min().item<int64_t>(), int64_t{1} << 60);
  EXPECT_GT(guards_.empty({7}, {1}, at::kByte).min().item<int64_t>(), 1);
  EXPECT_TRUE(guards_.intact());
}

TEST_F(GuardsTest, UsedMemoryHoldsNumbers) {
  Guards guards(at::kCPU, kUsedMemory);
  for (at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    EXPECT_TRUE(guards.empty({3, 5}, {5, 1}, type).isfinite().all().item<bool>());
  }
  EXPECT_TRUE(guards.intact());
}

TEST_F(GuardsTest, BareBuffersHaveNothingAround) {
  Guards guards = Guards::bare(at::kCPU);
  const at::Tensor made = guards.empty({3, 5}, {1, 3}, at::kFloat);
  EXPECT_EQ(made.sizes(), at::IntArrayRef({3, 5}));
  EXPECT_EQ(made.strides(), at::IntArrayRef({1, 3}));
  EXPECT_EQ(made.storage().nbytes(), 60u);
  const at::Tensor base = at::arange(12, at::kFloat).view({3, 4});
  const auto copies = guards.copy({base, base.t(), at::Tensor()});
  EXPECT_TRUE(copies[0].equal(base));
  EXPECT_TRUE(copies[0].is_alias_of(copies[1]));
  EXPECT_FALSE(copies[0].is_alias_of(base));
  EXPECT_EQ(copies[0].storage().nbytes(), 48u);
  EXPECT_FALSE(copies[2].defined());
  EXPECT_TRUE(guards.intact());
}

TEST_F(GuardsTest, WhatIsToBeOverwrittenIsWhenNobodyHoldsIt) {
  for (const bool overwrites : {true, false}) {
    Guards guards = overwrites ? Guards::overwriting(at::kCPU) : Guards(at::kCPU);
    for (const int64_t count : {1, 7, 1000}) {
      const at::Tensor numbers = at::arange(1, count + 1).to(at::kByte);
      std::vector<at::Tensor> copies = guards.copy({numbers, numbers.narrow(0, 0, 1)});
      char* data = bytes(copies[0]);
      const std::string was(data, static_cast<size_t>(count));
      copies.erase(copies.begin());
      EXPECT_EQ(std::string(data, was.size()), was);  // the other one looks at it
      copies.clear();
      // The guards hold the memory until they check it.
      EXPECT_EQ(std::string(data, was.size()) == was, !overwrites) << count;
    }
    EXPECT_TRUE(guards.intact());
  }
}

TEST_F(GuardsTest, BuffersAreAlignedAndLaidOutAsAsked) {
  for (int i = 0; i < 20; ++i) {
    const at::Tensor t = guards_.empty({3, i}, {1, 3}, at::kFloat);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data_ptr()) % kBufferAlignment, 0u);
    EXPECT_EQ(t.strides(), (at::IntArrayRef{1, 3}));
    EXPECT_EQ(t.storage_offset(), 0);
  }
}

// Any single byte changed within 4 KiB of a buffer of any size is seen; any inside is not.
TEST_F(GuardsTest, EveryByteOutsideIsWatched) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    Guards guards(at::kCPU, trial % 2 ? kPoison : kUsedMemory);
    const int64_t size = static_cast<int64_t>(random() % 40);
    const at::Tensor t = guards.empty({size}, {1}, at::kByte);
    const bool inside = size > 0 && random() % 4 == 0;
    const int64_t distance = random() % 3 == 0 ? 0 : random() % kGuardBytes;
    const int64_t at = inside         ? static_cast<int64_t>(random()) % size
                       : random() % 2 ? size + distance
                                      : -1 - distance;
    bytes(t)[inside ? std::abs(at) : at] ^= static_cast<char>(1 << random() % 8);
    EXPECT_EQ(guards.intact(), inside) << size << " " << at;
  }
}

TEST_F(GuardsTest, OverrunsOfFreedBuffersAreRemembered) {
  at::Tensor t = guards_.empty({4}, {1}, at::kFloat);
  bytes(t)[16] = 0;
  t.reset();
  guards_.sweep();
  EXPECT_FALSE(guards_.intact());
}

TEST_F(GuardsTest, BuffersOutliveTheirGuards) {
  at::Tensor t;
  {
    Guards guards(at::kCPU);
    t = guards.empty({1000}, {1}, at::kFloat).fill_(3);
  }
  EXPECT_EQ(t.sum().item<double>(), 3000);
}

TEST_F(GuardsTest, CopiesKeepValuesAliasesAndLayout) {
  const at::Tensor base = at::randn({6, 4}), other = at::arange(5);
  const std::vector<at::Tensor> originals = {base.t(), base.slice(0, 2, 4), other,
                                             at::ones({1}).expand({3})};
  const std::vector<at::Tensor> copies = guards_.copy(originals);
  for (size_t i = 0; i < copies.size(); ++i) {
    EXPECT_TRUE(at::equal(copies[i], originals[i]));
    EXPECT_EQ(copies[i].strides(), originals[i].strides());
    EXPECT_EQ(copies[i].storage_offset(), originals[i].storage_offset());
    EXPECT_FALSE(copies[i].is_alias_of(originals[i]));
  }
  EXPECT_TRUE(copies[0].is_alias_of(copies[1]));
  EXPECT_FALSE(copies[0].is_alias_of(copies[2]));
  at::Tensor view = copies[1];
  view.zero_();
  EXPECT_EQ(copies[0].slice(1, 2, 4).abs().sum().item<double>(), 0);
  EXPECT_TRUE(guards_.intact());
}

TEST_F(GuardsTest, PoisonReachesTheWholeStorage) {
  at::Tensor base = at::zeros({5}, at::kHalf);
  poison_storage(base.slice(0, 1, 2));
  EXPECT_TRUE(base.isnan().all().item<bool>());
  poison_storage(at::empty({0}));
}

}  // namespace
}  // namespace kw::exec
