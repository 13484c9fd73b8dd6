// torch.compile's versions of references, built by worker/baseline.py: a trusted process that may
// use the GPU, on the reference only.
//
// Owns that process, which begins to import torch when this is made, so that it is warm by the time
// a package is wanted. Made by one thread, which must live as long as this does; used by one thread
// at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "verify/verifier.h"
#include "worker/channel.h"
#include "worker/process.h"

namespace kw {

// What a package is made from.
struct BaselineRequest {
  RecordRequest model;
  std::vector<StateEntry> state;
  // Which of the forward program's inputs (state first, then arguments) the package takes, in this
  // order; empty: all of them, in theirs.
  std::vector<int> inputs;
  bool max_autotune = false;  // as torch.compile's mode of this name; takes the GPU meanwhile
};

class Baselines {
 public:
  // `device` is "cuda" or "cpu". At most `parallel` packages are built at once.
  Baselines(const std::string& device, int parallel);

  // AOTInductor packages in the order of `requests`; empty, with one line on stderr, where there is
  // none. They live in `folder`, which belongs to one such call.
  std::vector<std::string> build(const std::vector<BaselineRequest>& requests,
                                 const std::filesystem::path& folder);

 private:
  // The next answer; empties stderr meanwhile, or a full pipe would stop the process.
  FrameChannel::Received next_answer(Deadline deadline);
  // Whether to go on; the process is ended when it cannot be spoken to.
  bool keep(ChannelStatus status);

  int parallel_;
  OutputTail tail_;
  Process process_;
  std::optional<FrameChannel> channel_;  // none when the process is gone
};

}  // namespace kw
