// Frames over sockets, with file descriptors attached.
//
// FrameChannel is the blocking end that executors and their clients use: one frame out, one frame
// in, each under a deadline. FrameWriter is the non-blocking half that a poll loop drives. What a
// peer does wrong (closes, hangs, sends what is no frame) is a ChannelStatus, never an exception;
// EnvironmentError is left for a machine that is out of descriptors or memory. One thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/frame.h"
#include "worker/process/unique_fd.h"

namespace kw {

using Deadline = std::chrono::steady_clock::time_point;
constexpr Deadline kNoDeadline = Deadline::max();
inline Deadline deadline_in(std::chrono::milliseconds wait) {
  return std::chrono::steady_clock::now() + wait;
}
// Milliseconds for poll(2): -1 for kNoDeadline, 0 when it has passed, otherwise rounded up.
int poll_timeout(Deadline deadline);

enum class ChannelStatus {
  kOk,
  kTimeout,  // the deadline passed; the stream may be in the middle of a frame
  kClosed,   // the peer closed its end (kOk first for every frame that came whole)
  kBroken,   // the bytes are no frame, or larger than the limits
};

// A connected pair, both ends close-on-exec. `type` is SOCK_STREAM or SOCK_SEQPACKET.
std::pair<UniqueFd, UniqueFd> socket_pair(int type);
void set_nonblocking(int fd);

// One message with descriptors attached to its first byte. These wrap sendmsg / recvmsg: the
// result is the byte count, 0 at the end of the stream, or -1 with errno. Received descriptors
// are close-on-exec. At most kMaxFds are carried.
constexpr size_t kMaxFds = 253;
ssize_t send_with_fds(int socket, std::string_view bytes, const std::vector<int>& fds, int flags);
ssize_t receive_with_fds(int socket, char* buffer, size_t size, std::vector<UniqueFd>* fds,
                         int flags);

// Sends one encoded frame in as many pieces as the socket takes.
class FrameWriter {
 public:
  // `fds` are borrowed until the first byte has gone.
  FrameWriter(const Frame& frame, std::vector<int> fds);
  bool done() const { return sent_ == bytes_.size(); }
  // Writes what fits now without blocking. kOk also when the socket is full.
  ChannelStatus write_some(int socket);

 private:
  std::string bytes_;
  size_t sent_ = 0;
  std::vector<int> fds_;
};

class FrameChannel {
 public:
  explicit FrameChannel(UniqueFd socket, FrameLimits limits = {});

  ChannelStatus send(const Frame& frame, const std::vector<int>& fds = {},
                     Deadline deadline = kNoDeadline);
  struct Received {
    ChannelStatus status = ChannelStatus::kClosed;
    Frame frame;                // of kOk
    std::vector<UniqueFd> fds;  // that came with it
    std::string message;        // of kBroken: what was wrong
    bool ok() const { return status == ChannelStatus::kOk; }
  };
  Received receive(Deadline deadline = kNoDeadline);
  int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  FrameParser parser_;
};

}  // namespace kw
