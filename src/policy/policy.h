// Policies propose source for a task; what they propose is recorded, compiled and judged like any
// stranger's candidate.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "formats/json.h"
#include "program/program.h"
#include "worker/device_profile.h"

namespace kw {

// A plan (one line per kernel: values fused, family, tiling, warps, stages) and the source of a
// module that defines `class ModelNew(torch.nn.Module)` whose forward takes the task's arguments.
struct Proposal {
  std::string family;
  std::string plan;
  std::string source;
  double model_seconds = 0;  // the policy's own estimate of device time; 0 when it has none
  // What the policy says of the schedule, for tables of schedules (docs/schedules.md); may be null.
  Json schedule;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;
  // Changes with whatever else, besides name and versions, its answers depend on: part of the
  // address of results that are kept. What it learns does not count: that only improves answers.
  virtual std::string fingerprint() const { return {}; }
  // At most `count` proposals for `task` (usually a fragment), best guess first; none when the
  // policy cannot write it. `seed` makes the answer reproducible.
  virtual std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                        uint64_t seed,
                                        std::chrono::steady_clock::time_point deadline) = 0;
  // Told how proposals for one task did that were right: `schedule` and seconds of device time.
  virtual void learn(const std::vector<std::pair<Json, double>>& /*measured*/) {}
  // One line for people on why propose() gave nothing; empty when the policy does not say.
  virtual std::string refusal(const Task& /*task*/, const DeviceProfile& /*profile*/) { return {}; }
};

}  // namespace kw
