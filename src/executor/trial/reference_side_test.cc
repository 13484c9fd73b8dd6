#include "executor/trial/reference_side.h"

#include <gtest/gtest.h>

namespace kw::exec {
namespace {

ReferenceKey key(int task, uint64_t seed) { return {task, seed, {}}; }

// Returns whether an entry is there. If not, puts one, provided that there is room.
bool use(ReferenceCache& cache, const ReferenceKey& key, int64_t bytes) {
  if (cache.find(key).side) return true;
  CachedReference entry;
  entry.side = std::make_shared<ReferenceSide>();
  entry.bytes = bytes;
  if (cache.make_room(std::get<0>(key), bytes)) cache.put(key, std::move(entry));
  return false;
}

TEST(ReferenceCache, StaysWithinItsBudget) {
  ReferenceCache cache(100);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    use(cache, key(static_cast<int>(seed * 7 % 3), seed * 5 % 17),
        1 + static_cast<int64_t>(seed * 13 % 60));
    EXPECT_LE(cache.bytes(), 100);
  }
  EXPECT_FALSE(use(cache, key(9, 0), 101));
  EXPECT_FALSE(cache.find(key(9, 0)).side);
  EXPECT_GT(cache.bytes(), 0);  // what does not fit drives out nobody
}

// The cache has room for four of ten trials.
TEST(ReferenceCache, CandidatesOneAfterTheOtherFindTheFirstTrials) {
  ReferenceCache cache(40);
  for (int candidate = 0; candidate < 3; ++candidate) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const bool found = use(cache, key(1, seed), 10);
      EXPECT_EQ(found, candidate > 0 && seed < 3) << candidate << " " << seed;
    }
  }
}

TEST(ReferenceCache, CandidatesSideBySideShareEachTrial) {
  ReferenceCache cache(40);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_FALSE(use(cache, key(1, seed), 10));
    for (int other = 0; other < 3; ++other) EXPECT_TRUE(use(cache, key(1, seed), 10)) << seed;
  }
}

TEST(ReferenceCache, OtherTasksMakeRoomFirst) {
  ReferenceCache cache(40);
  for (uint64_t seed = 0; seed < 2; ++seed) use(cache, key(1, seed), 10);
  for (uint64_t seed = 0; seed < 2; ++seed) use(cache, key(2, seed), 10);
  EXPECT_TRUE(use(cache, key(1, 0), 10));
  use(cache, key(2, 2), 10);
  EXPECT_TRUE(cache.find(key(1, 0)).side);  // the one that was used last stays
  EXPECT_FALSE(cache.find(key(1, 1)).side);
  for (uint64_t seed = 0; seed < 3; ++seed) EXPECT_TRUE(cache.find(key(2, seed)).side);
  cache.forget(2);
  EXPECT_EQ(cache.bytes(), 10);
}

}  // namespace
}  // namespace kw::exec
