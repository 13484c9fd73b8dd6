#include "worker/process/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <thread>

namespace kw {
namespace {

using std::chrono::milliseconds;

struct Ends {
  UniqueFd a, b;
  Ends() { std::tie(a, b) = socket_pair(SOCK_STREAM); }
};

TEST(FrameChannel, CarriesFramesInOrder) {
  Ends ends;
  FrameChannel left(std::move(ends.a)), right(std::move(ends.b));
  for (int i = 0; i < 3; ++i) {
    Frame frame;
    frame.json = {{"i", i}};
    frame.blobs = {std::string(static_cast<size_t>(i), 'x'), ""};
    ASSERT_EQ(left.send(frame), ChannelStatus::kOk);
  }
  for (int i = 0; i < 3; ++i) {
    auto received = right.receive();
    ASSERT_TRUE(received.ok());
    EXPECT_EQ(received.frame.json["i"], i);
    ASSERT_EQ(received.frame.blobs.size(), 2u);
    EXPECT_EQ(received.frame.blobs[0].size(), static_cast<size_t>(i));
  }
}

TEST(FrameChannel, LargerThanTheSocketBuffer) {
  Ends ends;
  FrameChannel left(std::move(ends.a)), right(std::move(ends.b));
  Frame frame;
  frame.blobs = {std::string(8 << 20, 'y')};
  std::thread sender([&] { EXPECT_EQ(left.send(frame), ChannelStatus::kOk); });
  auto received = right.receive(deadline_in(milliseconds(20000)));
  sender.join();
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(received.frame.blobs, frame.blobs);
}

TEST(FrameChannel, CarriesDescriptors) {
  Ends ends;
  FrameChannel left(std::move(ends.a)), right(std::move(ends.b));
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  UniqueFd reading(pipe_fds[0]), writing(pipe_fds[1]);
  Frame frame;
  frame.blobs = {std::string(100000, 'z')};
  ASSERT_EQ(left.send(frame, {reading.get(), writing.get()}), ChannelStatus::kOk);
  auto received = right.receive();
  ASSERT_TRUE(received.ok());
  ASSERT_EQ(received.fds.size(), 2u);
  ASSERT_EQ(::write(received.fds[1].get(), "!", 1), 1);
  char c = 0;
  EXPECT_EQ(::read(reading.get(), &c, 1), 1);
  EXPECT_EQ(c, '!');
}

TEST(FrameChannel, TimesOutOnBothSides) {
  Ends ends;
  FrameChannel left(std::move(ends.a));
  EXPECT_EQ(left.receive(deadline_in(milliseconds(1))).status, ChannelStatus::kTimeout);
  Frame frame;
  frame.blobs = {std::string(8 << 20, 'y')};  // nobody reads
  EXPECT_EQ(left.send(frame, {}, deadline_in(milliseconds(1))), ChannelStatus::kTimeout);
}

TEST(FrameChannel, ClosedAfterTheLastWholeFrame) {
  Ends ends;
  {
    FrameChannel left(std::move(ends.a));
    ASSERT_EQ(left.send({Json::object(), {}}), ChannelStatus::kOk);
  }
  FrameChannel right(std::move(ends.b));
  EXPECT_EQ(right.receive().status, ChannelStatus::kOk);
  EXPECT_EQ(right.receive().status, ChannelStatus::kClosed);
  EXPECT_EQ(right.send({Json::object(), {}}), ChannelStatus::kClosed);
}

TEST(FrameChannel, EveryTruncationIsClosedAndEveryGarbledHeaderIsNoFrame) {
  Frame frame;
  frame.json = {{"a", 1}};
  frame.blobs = {"blob"};
  const std::string bytes = encode_frame(frame);
  for (size_t length = 0; length < bytes.size(); ++length) {
    Ends ends;
    ASSERT_EQ(::send(ends.a.get(), bytes.data(), length, 0), static_cast<ssize_t>(length));
    ends.a.reset();
    EXPECT_EQ(FrameChannel(std::move(ends.b)).receive().status, ChannelStatus::kClosed) << length;
  }
  for (size_t at : {0u, 3u, 12u, 15u}) {  // magic number, reserved field
    std::string garbled = bytes;
    garbled[at] = static_cast<char>(garbled[at] ^ 0x40);
    Ends ends;
    ASSERT_GT(::send(ends.a.get(), garbled.data(), garbled.size(), 0), 0);
    auto received = FrameChannel(std::move(ends.b)).receive();
    EXPECT_EQ(received.status, ChannelStatus::kBroken) << at;
    EXPECT_FALSE(received.message.empty());
  }
}

TEST(UniqueFd, ClosesOnce) {
  int fd = ::dup(0);
  {
    UniqueFd first(fd);
    UniqueFd second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), fd);
  }
  struct stat info;
  EXPECT_EQ(::fstat(fd, &info), -1);
}

}  // namespace
}  // namespace kw
