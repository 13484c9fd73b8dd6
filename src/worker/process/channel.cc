#include "worker/process/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "formats/base/error.h"
#include "worker/process/sockets.h"

namespace kw {
namespace {

constexpr size_t kChunk = size_t{256} << 10;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

int poll_timeout(Deadline deadline) {
  if (deadline == kNoDeadline) return -1;
  const auto now = std::chrono::steady_clock::now();
  if (deadline <= now) return 0;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

std::pair<UniqueFd, UniqueFd> socket_pair(int type) {
  int fds[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0) {
    throw EnvironmentError(std::string("cannot make a socket pair: ") + std::strerror(errno));
  }
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void set_nonblocking(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    throw EnvironmentError(std::string("fcntl: ") + std::strerror(errno));
  }
}

ssize_t send_with_fds(int socket, std::string_view bytes, const std::vector<int>& fds, int flags) {
  if (fds.size() > kMaxFds) {
    throw InputError("a message carries at most " + std::to_string(kMaxFds) + " descriptors, not " +
                     std::to_string(fds.size()));
  }
  iovec io{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_with_fds(int socket, char* buffer, size_t size, std::vector<UniqueFd>* fds,
                         int flags) {
  iovec io{buffer, size};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t number = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < number; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      fds->emplace_back(fd);
    }
  }
  return count;
}

FrameWriter::FrameWriter(const Frame& frame, std::vector<int> fds)
    : bytes_(encode_frame(frame)), fds_(std::move(fds)) {}

ChannelStatus FrameWriter::write_some(int socket) {
  while (!done()) {
    ssize_t count =
        send_with_fds(socket, std::string_view(bytes_).substr(sent_), fds_, MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      return would_block() ? ChannelStatus::kOk : ChannelStatus::kClosed;
    }
    sent_ += static_cast<size_t>(count);
    fds_.clear();  // they went with the first byte
  }
  return ChannelStatus::kOk;
}

FrameChannel::FrameChannel(UniqueFd socket, FrameLimits limits)
    : socket_(std::move(socket)), parser_(limits) {}

ChannelStatus FrameChannel::send(const Frame& frame, const std::vector<int>& fds,
                                 Deadline deadline) {
  FrameWriter writer(frame, fds);
  for (;;) {
    ChannelStatus status = writer.write_some(socket_.get());
    if (status != ChannelStatus::kOk || writer.done()) return status;
    if (!wait_for(socket_.get(), POLLOUT, deadline)) return ChannelStatus::kTimeout;
  }
}

FrameChannel::Received FrameChannel::receive(Deadline deadline) {
  Received received;
  std::string buffer(kChunk, '\0');
  try {
    for (;;) {
      if (auto frame = parser_.next()) {
        received.frame = std::move(*frame);
        received.status = ChannelStatus::kOk;
        return received;
      }
      if (!wait_for(socket_.get(), POLLIN, deadline)) {
        received.status = ChannelStatus::kTimeout;
        return received;
      }
      ssize_t count = receive_with_fds(socket_.get(), buffer.data(), buffer.size(), &received.fds,
                                       MSG_DONTWAIT);
      if (count < 0 && would_block()) continue;
      if (count <= 0) {
        received.status = ChannelStatus::kClosed;
        return received;
      }
      parser_.feed(std::string_view(buffer.data(), static_cast<size_t>(count)));
    }
  } catch (const InputError& error) {
    received.status = ChannelStatus::kBroken;
    received.message = error.what();
    return received;
  }
}

}  // namespace kw
