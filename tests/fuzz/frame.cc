// Frames, as they come from workers and executors, and tasks sent as frames.
#include "formats/frame.h"

#include "fuzz.h"
#include "program/task_json.h"

namespace kw {
namespace {

constexpr FrameLimits kLimits{size_t{1} << 24, size_t{1} << 22, 4096};

// All frames in `bytes`, fed in pieces of `step`; what is wrong ends them.
std::vector<Frame> frames_in(std::string_view bytes, size_t step) {
  std::vector<Frame> frames;
  FrameParser parser(kLimits);
  try {
    for (size_t at = 0; at < bytes.size(); at += step) {
      parser.feed(bytes.substr(at, step));
      while (auto frame = parser.next()) frames.push_back(std::move(*frame));
    }
  } catch (const InputError&) {
  }
  return frames;
}

bool same(const Frame& a, const Frame& b) { return a.json == b.json && a.blobs == b.blobs; }

void check(std::string_view bytes) {
  const auto whole = frames_in(bytes, std::max<size_t>(bytes.size(), 1));
  const auto pieces = frames_in(bytes, bytes.size() / 64 + 1);
  must(whole.size() == pieces.size(), "as many frames in pieces as at once");
  for (size_t i = 0; i < whole.size(); ++i) {
    must(same(whole[i], pieces[i]), "a frame in pieces is the frame");
    const auto again = frames_in(encode_frame(whole[i]), 1 << 20);
    must(again.size() == 1 && same(again[0], whole[i]), "a frame that was read can be sent on");
    const auto task = parsed([&] { return task_from_frame(whole[i]); });
    if (!task) continue;
    const Json sent = to_json(task_from_frame(task_to_frame(*task)));
    must(sent == to_json(*task), "a task that was read can be sent on");
  }
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
