// Policies propose source for a task. Each proposal is recorded, compiled and judged like any
// stranger's candidate.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
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
  double model_seconds = 0;  // the policy's estimate of device time; 0: it has none
  // The policy's description of the schedule, for tables (docs/schedules.md); may be null.
  Json schedule;
  // Why there is no source, in one line; empty otherwise. Such a proposal counts as one that was
  // rejected at load.
  std::string fault;
  // No answer came, as from an endpoint that is down: the proposal was not judged.
  bool unanswered = false;
  bool drawn = false;  // it was waited for, about in proportion to its length
};

// A policy's estimate for a fragment before it writes the code.
struct Guess {
  std::string family;
  double seconds = 0;  // of device time
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;
  // Returns a text that changes with everything that answers depend on, besides name and versions.
  // It is part of the address of stored results. What the policy learns is not part of it, as that
  // only improves answers.
  virtual std::string fingerprint() const { return {}; }
  // Waits until proposals can be made. A caller with minutes of other work before its first
  // question uses it. Throws InputError or EnvironmentError if no proposal could be made.
  virtual void prepare() {}
  // Returns at most `count` proposals for `task` (usually a fragment), best guess first; none if
  // the policy cannot write it. `seed` makes the answer reproducible. `task.source` names the
  // model's file, and its class if the task is the model's whole forward program; the class of a
  // part is "fragment". Any thread may call this, guess() and refusal(). If at_once() is 1, calls
  // compute side by side; otherwise calls beyond that number wait for each other.
  virtual std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                        uint64_t seed,
                                        std::chrono::steady_clock::time_point deadline) = 0;
  // Makes proposals as propose() does, and calls `take` for each as soon as it is there, in any
  // order and one at a time. Proposals for which `wanted()` returns false are dropped without
  // waiting. `wanted` must be thread-safe.
  virtual void propose_each(const Task& task, const DeviceProfile& profile, int count,
                            uint64_t seed, std::chrono::steady_clock::time_point deadline,
                            const std::function<void(Proposal)>& take,
                            const std::function<bool()>& wanted) {
    for (Proposal& one : propose(task, profile, count, seed, deadline)) {
      if (wanted()) take(std::move(one));
    }
  }
  // Returns an estimate of the first proposal for `task`, or nothing if the policy cannot write it.
  // It is asked about every fragment of a program. A policy that waits or pays for proposals
  // overrides this default, which makes one.
  virtual std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    const std::vector<Proposal> first = propose(task, profile, 1, 0, soon);
    if (first.empty()) return {};
    return Guess{first[0].family, first[0].model_seconds};
  }
  // Returns the number of requests in flight; 1 if the policy computes locally.
  virtual int at_once() const { return 1; }
  // Returns whether the proposals of one propose() are sampled separately and waited for together.
  // Another seed then gives other answers, which may be better.
  virtual bool draws() const { return at_once() > 1; }
  // Returns how long one propose() may take.
  virtual std::chrono::seconds patience() const { return std::chrono::seconds(60); }
  // Returns the requests to other services and their cost since the policy was made
  // (docs/policies.md), or null if there are none.
  virtual Json costs() const { return {}; }
  // Takes the right proposals for one task: each `schedule` and its seconds of device time.
  virtual void learn(const std::vector<std::pair<Json, double>>& /*measured*/) {}
  // Returns one line for people on why propose() gave nothing; empty if the policy does not say.
  virtual std::string refusal(const Task& /*task*/, const DeviceProfile& /*profile*/) { return {}; }
};

}  // namespace kw
