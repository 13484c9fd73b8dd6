// Frames: the messages between supervisor, workers and executors (docs/formats/protocol.md).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "formats/json.h"

namespace kw {

struct Frame {
  Json json;
  std::vector<std::string> blobs;
};

struct FrameLimits {
  uint64_t bytes = uint64_t{1} << 30;
  uint64_t json_bytes = uint64_t{64} << 20;
  uint32_t blobs = 65536;
};

std::string encode_frame(const Frame& frame);

// Collects bytes until a frame is whole. Owns its buffer; one thread.
class FrameParser {
 public:
  explicit FrameParser(FrameLimits limits = {}) : limits_(limits) {}
  void feed(std::string_view bytes);
  // The next whole frame, or nothing yet. InputError when the bytes cannot be a frame or a limit
  // is passed; the parser must not be used after that.
  std::optional<Frame> next();
  // Returns whether no bytes are left behind the last frame.
  bool empty() const { return buffer_.empty(); }

 private:
  // Where the parts of the frame at the buffer's start lie.
  struct Layout {
    size_t json_begin, json_bytes, total;
    std::vector<uint64_t> blobs;
  };
  std::optional<Layout> read_layout() const;

  FrameLimits limits_;
  std::string buffer_;
  std::optional<Layout> layout_;  // once its header and table are there
};

}  // namespace kw
