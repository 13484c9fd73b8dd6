// Launches of a candidate that change nothing of its answer: each is left out in turn.
//
// Asked first is the output that comes from least, by the steps behind it alone, where these give
// the very answer; the whole program has the last word.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "executor/aten/backend.h"
#include "executor/replay/replay.h"

namespace kw {

class IdleLaunches {
 public:
  // What a user has of a call: its outputs, then what it changed of tensors that are his. Of a part
  // of the program, that part's outputs alone are defined.
  using Has = std::vector<at::Tensor>;
  // Calls the candidate, always on the same inputs, gives what the user has to the function, and
  // overwrites it.
  using Call = std::function<void(const ReplayOptions&, const std::function<void(const Has&)>&)>;

  // `answer`: of a call with all launches.
  IdleLaunches(Backend& backend, const Task& candidate, Call call, Has answer);

  // Without any launch the answer is the same.
  bool are_all();
  // Without the launch at this step of forward.
  bool is(int step);

 private:
  // An output that comes from a small part of the candidate's steps.
  struct Part {
    size_t output;
    Lineage lineage;
    // Alone, these steps give what all of them give; once it is known.
    std::optional<bool> is_whole;
  };
  bool is_whole(Part& part);
  bool matters(ReplayOptions options, std::optional<size_t> output = {});
  bool changes_without(const ReplayOptions& options, std::optional<size_t> output);
  const std::vector<double>& noise();

  Backend& backend_;
  const Call call_;
  const Has answer_;
  std::vector<Part> parts_;  // the smallest first
  std::optional<std::vector<double>> noise_;
};

}  // namespace kw
