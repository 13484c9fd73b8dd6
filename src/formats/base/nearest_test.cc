#include "formats/base/nearest.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Nearest, DistanceCountsLetters) {
  EXPECT_EQ(distance("", ""), 0u);
  EXPECT_EQ(distance("relu", "relu"), 0u);
  EXPECT_EQ(distance("relu", "relus"), 1u);
  EXPECT_EQ(distance("elu", "relu"), 1u);
  EXPECT_EQ(distance("kitten", "sitting"), 3u);
  EXPECT_EQ(distance("abc", ""), 3u);
}

TEST(Nearest, TheFirstOfTheNearest) {
  EXPECT_EQ(nearest("reluu", {"tanh", "relu", "elu"}), "relu");
  EXPECT_EQ(nearest("a", {"b", "c"}), "b");
  EXPECT_EQ(nearest("a", {}), "");
}

}  // namespace
}  // namespace kw
