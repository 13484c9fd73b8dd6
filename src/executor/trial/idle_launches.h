// Finds launches of a candidate that change nothing of its answer, by leaving out one at a time.
//
// Each that is tried takes two runs of the program or more. So of many launches only some are
// tried. If none of these matters, others are, because a candidate is rejected if none of all does.
//
// For each launch, the output that depends on the fewest bytes is tried first. Only the steps that
// it depends on run, provided that they give the very answer. If no change shows there, the whole
// program decides.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "executor/aten/backend.h"
#include "executor/replay/replay.h"

namespace kw::exec {

class IdleLaunches {
 public:
  // What a user gets from a call: its outputs, then the caller's tensors that it changed. If a part
  // of the program runs, only that part's outputs are defined.
  using Has = std::vector<at::Tensor>;
  // Calls the candidate, always on the same inputs, passes what the user gets to the function, and
  // overwrites it.
  using Call = std::function<void(const Ablation&, const std::function<void(const Has&)>&)>;

  // `answer` is that of a call with all launches.
  IdleLaunches(Backend& backend, const Task& candidate, Call call, Has answer);

  // Returns whether the answer is the same without any launch.
  bool are_all();
  // Returns the idle ones of the launches at these steps of forward, as far as they are tried.
  std::vector<int> among(const std::vector<int>& steps);
  static constexpr size_t kTried = 16;

 private:
  // An output that depends on a small part of the candidate's steps.
  struct Part {
    size_t output;
    Lineage lineage;
    // Whether these steps alone give what all steps give; set once it is known.
    std::optional<bool> is_whole;
  };
  // Returns whether the answer is the same without the launch at this step.
  bool is_idle(int step);
  bool is_whole(Part& part);
  bool matters(Ablation ablation, std::optional<size_t> output = {});
  bool changes_without(const Ablation& ablation, std::optional<size_t> output);
  const std::vector<double>& noise();

  Backend& backend_;
  const Call call_;
  const Has answer_;
  std::vector<Part> parts_;  // the smallest first
  std::optional<std::vector<double>> noise_;
};

}  // namespace kw::exec
