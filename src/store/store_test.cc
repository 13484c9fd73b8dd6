#include "store/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "formats/error.h"

namespace kw {
namespace {

class StoreTest : public testing::Test {
 protected:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("kw_store_test_" + std::to_string(::getpid()));
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(StoreTest, KeepsValuesAcrossOpenings) {
  {
    Store store(folder_ / "deep" / "s.sqlite");
    EXPECT_FALSE(store.get("a"));
    store.put("a", {{"x", 1}});
    store.put("a", {{"x", 2}});
    store.put("b", "text");
  }
  const Store store(folder_ / "deep" / "s.sqlite");
  EXPECT_EQ(*store.get("a"), Json({{"x", 2}}));
  EXPECT_EQ(*store.get("b"), Json("text"));
}

TEST_F(StoreTest, TwoOpeningsSeeEachOther) {
  Store first(folder_ / "s.sqlite"), second(folder_ / "s.sqlite");
  first.put("k", 1);
  EXPECT_EQ(*second.get("k"), Json(1));
}

TEST_F(StoreTest, WhatIsNoDatabaseIsRefusedWithItsPath) {
  std::ofstream(folder_ / "bad.sqlite") << std::string(4096, 'x');
  try {
    Store store(folder_ / "bad.sqlite");
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("bad.sqlite"), std::string::npos);
  }
}

}  // namespace
}  // namespace kw
