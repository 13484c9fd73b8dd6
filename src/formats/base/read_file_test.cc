#include "formats/base/read_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

class ReadFile : public testing::Test {
 protected:
  fs::path put(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  // A file of this size that takes no room on the disk.
  fs::path put_size(const std::string& name, uintmax_t bytes) const {
    put(name, "");
    fs::resize_file(path_ / name, bytes);
    return path_ / name;
  }
  static std::string refusal(const fs::path& path, uintmax_t most = kMostDocument) {
    try {
      read_file(path, most);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  // The lines, each with "|" where it was not whole.
  static std::vector<std::string> lines_of(const fs::path& path) {
    std::vector<std::string> out;
    LineReader lines(path);
    for (std::string line; lines.next(line);) out.push_back(line + (lines.is_whole() ? "" : "|"));
    return out;
  }

  const ScratchFolder scratch_{"kw-read-test"};
  const fs::path& path_ = scratch_.path();
};

TEST_F(ReadFile, HasEveryByte) {
  std::string bytes("a\0\r\n\xff", 5);
  bytes.append(200'000, 'x');
  EXPECT_EQ(read_file(put("x", bytes)), bytes);
  EXPECT_EQ(read_file(put("empty", "")), "");
  fs::create_symlink("x", path_ / "link");
  EXPECT_EQ(read_file(path_ / "link"), bytes);
  EXPECT_NE(read_file("/proc/self/status").find("Name:"), std::string::npos);  // has no size
}

TEST_F(ReadFile, WhatIsNoFileIsNamed) {
  ASSERT_EQ(::mkfifo((path_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", path_ / "link");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  (path_ / "socket").string().copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ::close(listener);
  EXPECT_NE(refusal(path_).find("is a folder, where a file was expected"), std::string::npos);
  EXPECT_NE(refusal(path_ / "fifo").find("is a FIFO"), std::string::npos);
  EXPECT_NE(refusal(path_ / "link").find("is a FIFO"), std::string::npos);
  EXPECT_NE(refusal(path_ / "socket").find("is a socket"), std::string::npos);
  EXPECT_NE(refusal("/dev/zero").find("is a device"), std::string::npos);
  EXPECT_NE(refusal(path_ / "none").find("cannot be read (is it there?)"), std::string::npos);
  EXPECT_NE(refusal("none").find("seen from " + fs::current_path().string()), std::string::npos);
  EXPECT_NE(refusal(std::string(5000, 'x')).find("name too long"), std::string::npos);
  EXPECT_THROW(LineReader(path_ / "fifo"), InputError);
}

TEST_F(ReadFile, IsRefusedByItsSizeBeforeItIsRead) {
  const fs::path large = put_size("large", uintmax_t{1} << 40);
  EXPECT_NE(refusal(large).find("is larger than 64 MiB"), std::string::npos);
  EXPECT_NE(refusal(large, kMostSource).find("is larger than 16 MiB"), std::string::npos);
  EXPECT_EQ(read_file(put_size("fits", kMostSource), kMostSource).size(), kMostSource);
}

TEST_F(ReadFile, ComesInLinesToo) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(put("x", "a\n\nb\r\nc")), (Lines{"a", "", "b\r", "c|"}));
  EXPECT_EQ(lines_of(put("x", "a\n")), Lines{"a"});
  EXPECT_EQ(lines_of(put("x", "")), Lines{});
  LineReader lines(put("x", "a\nb\n"));
  std::string line;
  lines.next(line);
  lines.next(line);
  EXPECT_EQ(lines.place(), (path_ / "x").string() + ":2");
  EXPECT_EQ(lines.number(), 2);
}

TEST_F(ReadFile, ADiskThatFailsIsTheMachinesFault) {
  LineReader lines("/proc/self/mem");  // nothing is mapped at its beginning
  std::string line, message;
  try {
    lines.next(line);
  } catch (const EnvironmentError& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "/proc/self/mem:1: cannot be read: Input/output error");
}

TEST_F(ReadFile, ALineHasALimit) {
  LineReader lines(put_size("large", uintmax_t{1} << 40));
  std::string line;
  EXPECT_THROW(lines.next(line), InputError);
}

}  // namespace
}  // namespace kw
