#include "formats/frame.h"

#include <cstring>

#include "formats/base/error.h"

namespace kw {
namespace {

constexpr uint32_t kMagic = 0x3152574b;  // "KWR1"
constexpr size_t kHeaderBytes = 16;

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <class T>
T get(const std::string& in, size_t offset) {
  T value;
  std::memcpy(&value, in.data() + offset, sizeof(T));
  return value;
}

}  // namespace

std::string encode_frame(const Frame& frame) {
  // Text that is not UTF-8 (a user's file, a kernel's name) must not stop a message.
  const std::string json = frame.json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  size_t total = kHeaderBytes + json.size();
  for (const std::string& blob : frame.blobs) total += 8 + blob.size();
  out.reserve(total);
  put<uint32_t>(out, kMagic);
  put<uint32_t>(out, static_cast<uint32_t>(json.size()));
  put<uint32_t>(out, static_cast<uint32_t>(frame.blobs.size()));
  put<uint32_t>(out, 0);
  for (const std::string& blob : frame.blobs) put<uint64_t>(out, blob.size());
  out += json;
  for (const std::string& blob : frame.blobs) out += blob;
  return out;
}

void FrameParser::feed(std::string_view bytes) { buffer_.append(bytes); }

std::optional<FrameParser::Layout> FrameParser::read_layout() const {
  if (buffer_.size() < kHeaderBytes) return std::nullopt;
  if (get<uint32_t>(buffer_, 0) != kMagic) throw InputError("frame: wrong magic number");
  const uint64_t json_bytes = get<uint32_t>(buffer_, 4);
  const uint32_t blob_count = get<uint32_t>(buffer_, 8);
  if (get<uint32_t>(buffer_, 12) != 0) throw InputError("frame: reserved field is not zero");
  if (json_bytes > limits_.json_bytes) throw InputError("frame: JSON part is too large");
  if (blob_count > limits_.blobs) throw InputError("frame: too many blobs");
  Layout layout{kHeaderBytes + size_t{8} * blob_count, json_bytes, 0, {}};
  if (buffer_.size() < layout.json_begin) return std::nullopt;
  layout.total = layout.json_begin + json_bytes;
  for (uint32_t i = 0; i < blob_count; ++i) {
    const uint64_t bytes = get<uint64_t>(buffer_, kHeaderBytes + size_t{8} * i);
    if (bytes > limits_.bytes || (layout.total += bytes) > limits_.bytes) {
      throw InputError("frame: larger than its limit of " + std::to_string(limits_.bytes) +
                       " bytes");
    }
    layout.blobs.push_back(bytes);
  }
  if (layout.total > limits_.bytes) throw InputError("frame: larger than its limit");
  return layout;
}

std::optional<Frame> FrameParser::next() {
  if (!layout_) layout_ = read_layout();
  if (!layout_ || buffer_.size() < layout_->total) return std::nullopt;
  Frame frame;
  size_t offset = layout_->json_begin + layout_->json_bytes;
  frame.json = parse_json(
      std::string_view(buffer_).substr(layout_->json_begin, layout_->json_bytes), "frame");
  for (uint64_t bytes : layout_->blobs) {
    frame.blobs.push_back(buffer_.substr(offset, bytes));
    offset += bytes;
  }
  buffer_.erase(0, layout_->total);
  layout_.reset();
  return frame;
}

}  // namespace kw
