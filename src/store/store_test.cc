#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>

#include "formats/base/error.h"

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

TEST_F(StoreTest, ManyMayOpenANewOneAtTheSameTime) {
  for (int round = 0; round < 20; ++round) {
    const auto path = folder_ / (std::to_string(round) + ".sqlite");
    std::vector<std::future<void>> openings;
    for (int i = 0; i < 16; ++i) {
      openings.push_back(std::async(std::launch::async, [&path, i] {
        Store store(path);
        store.put("by " + std::to_string(i), i);
      }));
    }
    for (std::future<void>& opening : openings) EXPECT_NO_THROW(opening.get());
    const Store store(path);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(*store.get("by " + std::to_string(i)), Json(i));
  }
}

TEST_F(StoreTest, KeepsBytesAsTheyAre) {
  std::string all;
  for (int i = 0; i < 1000; ++i) all += static_cast<char>(i * 7);
  {
    Store store(folder_ / "s.sqlite");
    EXPECT_FALSE(store.get_bytes("a"));
    store.put_bytes("a", "older");
    store.put_bytes("a", all);
    store.put_bytes("none", "");
  }
  const Store store(folder_ / "s.sqlite");
  EXPECT_EQ(store.get_bytes("a"), all);
  EXPECT_EQ(store.get_bytes("none"), "");
  EXPECT_FALSE(store.get("a"));
}

TEST_F(StoreTest, DamagedBytesAreNone) {
  const std::string bytes(100000, 'm');
  {
    Store store(folder_ / "s.sqlite");
    store.put_bytes("a", bytes);
  }
  std::string file;
  {
    std::ifstream in(folder_ / "s.sqlite", std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
  }
  const size_t at = file.rfind("mmmm");
  ASSERT_NE(at, std::string::npos);
  file[at] = 'n';
  std::ofstream(folder_ / "s.sqlite", std::ios::binary) << file;
  Store store(folder_ / "s.sqlite");
  EXPECT_FALSE(store.get_bytes("a"));
  store.put_bytes("a", bytes);
  EXPECT_EQ(store.get_bytes("a"), bytes);
}

TEST_F(StoreTest, TwoOpeningsSeeEachOther) {
  Store first(folder_ / "s.sqlite"), second(folder_ / "s.sqlite");
  first.put("k", 1);
  EXPECT_EQ(*second.get("k"), Json(1));
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Somebody's notes, or what a crash left: it holds nothing, and stays as it is.
TEST_F(StoreTest, WhatIsNoDatabaseIsNamedAndLeftAlone) {
  const std::string notes(4096, 'x');
  std::ofstream(folder_ / "bad.sqlite") << notes;
  {
    Store store(folder_ / "bad.sqlite");
    EXPECT_NE(store.fault().find("bad.sqlite"), std::string::npos);
    store.put("a", 1);
    store.put_bytes("a", "1");
    EXPECT_FALSE(store.get("a"));
    EXPECT_FALSE(store.get_bytes("a"));
  }
  EXPECT_EQ(bytes_of(folder_ / "bad.sqlite"), notes);
}

TEST_F(StoreTest, WhatWasCutOffEndsNothing) {
  {
    Store store(folder_ / "s.sqlite");
    for (int i = 0; i < 50; ++i) store.put(std::to_string(i), std::string(2000, 'x'));
  }
  const std::string whole = bytes_of(folder_ / "s.sqlite");
  for (size_t size : {whole.size() / 2, size_t{4096}, size_t{1000}, size_t{50}}) {
    std::ofstream(folder_ / "cut.sqlite", std::ios::binary) << whole.substr(0, size);
    Store store(folder_ / "cut.sqlite");
    for (int i = 0; i < 50; ++i) {
      const auto value = store.get(std::to_string(i));
      EXPECT_TRUE(!value || *value == Json(std::string(2000, 'x')));
    }
    EXPECT_NE(store.fault().find("cut.sqlite"), std::string::npos) << size;
    std::filesystem::remove(folder_ / "cut.sqlite");
  }
}

TEST_F(StoreTest, APlaceWhereNoneCanBeIsRefusedWithItsPath) {
  try {
    Store store(folder_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(folder_.string() + ": is a folder"),
              std::string::npos);
  }
  EXPECT_THROW(Store("/dev/null"), InputError);
  EXPECT_THROW(Store("/proc/kernelwright/s.sqlite"), EnvironmentError);
}

// A disk that is full from here on.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  void (*handler_)(int);
};

TEST_F(StoreTest, AFullDiskLosesTheValueAndNotTheRun) {
  Store store(folder_ / "s.sqlite");
  store.put("a", 1);
  EXPECT_EQ(store.fault(), "");
  {
    const FileSizeLimit full(16384);
    store.put("b", std::string(100000, 'x'));
    EXPECT_NE(store.fault().find("s.sqlite"), std::string::npos);
    EXPECT_FALSE(store.get("b"));
  }
  const Store again(folder_ / "s.sqlite");
  EXPECT_EQ(*again.get("a"), Json(1));
  EXPECT_FALSE(again.get("b"));
}

TEST_F(StoreTest, DamageIsFoundOutOnReadingAndEndsNothing) {
  { Store(folder_ / "s.sqlite").put("a", std::string(100000, 'x')); }
  {
    std::fstream file(folder_ / "s.sqlite", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(40000, 'y');
  }
  Store store(folder_ / "s.sqlite");
  EXPECT_FALSE(store.get("a"));
  EXPECT_NE(store.fault().find("s.sqlite"), std::string::npos);
  store.put("b", 1);
  EXPECT_FALSE(store.get("b"));
}

}  // namespace
}  // namespace kw
