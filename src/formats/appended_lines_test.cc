#include "formats/appended_lines.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

class Appending : public testing::Test {
 protected:
  void put(const std::string& text) const { std::ofstream(file_) << text; }
  std::string text() const { return read_file(file_); }
  std::string refusal() const {
    try {
      const AppendedLines second(file_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  const ScratchFolder scratch_{"kw-lines-test"};
  const fs::path file_ = scratch_.path() / "lines";
};

TEST_F(Appending, ARunGoesOnAfterTheWholeLines) {
  put("one\ntwo\nthr");
  AppendedLines lines(file_);
  std::vector<std::string> seen;
  const LinesEnd end = read_whole_lines(file_, [&](const std::string& line, const LineReader& at) {
    seen.push_back(at.place() + " " + line);
  });
  EXPECT_EQ(seen, (std::vector{file_.string() + ":1 one", file_.string() + ":2 two"}));
  EXPECT_EQ(end.rest, "thr");
  EXPECT_EQ(text(), "one\ntwo\nthr");  // the caller may refuse it still
  lines.cut(end.bytes);
  lines.append("three");
  EXPECT_EQ(text(), "one\ntwo\nthree\n");
}

TEST_F(Appending, AFileHasNoRestAfterItsLastLine) {
  const auto none = [](const std::string&, const LineReader&) {};
  put("one\n\n");
  EXPECT_EQ(read_whole_lines(file_, none).bytes, 5u);
  EXPECT_EQ(read_whole_lines(file_, none).rest, "");
  put("");
  EXPECT_EQ(read_whole_lines(file_, none).bytes, 0u);
}

TEST_F(Appending, OneRunHasTheFile) {
  {
    const AppendedLines first(file_);
    EXPECT_NE(refusal().find("lines: another run writes it; wait for that"), std::string::npos);
    EXPECT_TRUE(fs::exists(file_));
  }
  EXPECT_EQ(refusal(), "");
}

TEST_F(Appending, AFileThatStayedEmptyIsRemovedByTheRunThatMadeIt) {
  { const AppendedLines made(file_); }
  EXPECT_FALSE(fs::exists(file_));
  { AppendedLines(file_).append("one"); }
  EXPECT_EQ(text(), "one\n");
  put("");
  { const AppendedLines found(file_); }
  EXPECT_TRUE(fs::exists(file_));
}

// The run that waits has opened the file that the other one removes.
TEST_F(Appending, ARunThatWaitedHasAFileInItsPlace) {
  std::optional<AppendedLines> first(std::in_place, file_);
  auto second = std::async(
      std::launch::async, [&] { AppendedLines(file_, std::chrono::seconds(60)).append("second"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  first.reset();
  second.get();
  EXPECT_EQ(text(), "second\n");
}

TEST_F(Appending, WhatIsNoFileIsRefused) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_NE(refusal().find("is a FIFO, where a file was expected"), std::string::npos);
}

TEST_F(Appending, AFullDiskIsTheMachinesFault) {
  AppendedLines lines(file_);
  lines.append("one");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit usual = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small = {8, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    lines.append("a long line");
  } catch (const EnvironmentError& error) {
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  EXPECT_EQ(message, "cannot write " + file_.string() +
                         ": File too large; what is there is kept, and the same command goes on "
                         "with the rest");
  EXPECT_EQ(text(), "one\na lo");  // for the next run to cut
}

}  // namespace
}  // namespace kw
