#include "train/step/packing.h"

#include <gtest/gtest.h>

#include <random>

#include "formats/base/error.h"

namespace kw::train {
namespace {

TEST(Packing, EachTextOnceAndNoRowTooFull) {
  std::mt19937_64 random(3);
  for (int draw = 0; draw < 200; ++draw) {
    const size_t capacity = 1 + random() % 500;
    std::vector<size_t> lengths(random() % 100);
    for (size_t& length : lengths) length = 1 + random() % capacity;
    std::vector<int> seen(lengths.size());
    std::vector<size_t> used;
    const auto rows = pack(lengths, capacity);
    for (const auto& row : rows) {
      EXPECT_FALSE(row.empty());
      used.push_back(0);
      for (const size_t i : row) used.back() += lengths[i], ++seen[i];
      EXPECT_LE(used.back(), capacity);
    }
    for (const int times : seen) EXPECT_EQ(times, 1);
    // A text begins a row only where no row has room for it: no two rows fit into one.
    for (size_t a = 0; a < used.size(); ++a) {
      for (size_t b = a + 1; b < used.size(); ++b) EXPECT_GT(used[a] + used[b], capacity);
    }
  }
}

TEST(Packing, RefusesWhatFitsNoRow) { EXPECT_THROW(pack({3, 11}, 10), InputError); }

}  // namespace
}  // namespace kw::train
