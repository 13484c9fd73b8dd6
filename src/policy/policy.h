// Policies propose source for a task; what they propose is recorded, compiled and judged like any
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
  double model_seconds = 0;  // the policy's own estimate of device time; 0 when it has none
  // What the policy says of the schedule, for tables of schedules (docs/schedules.md); may be null.
  Json schedule;
  // Why there is no source, in one line: the proposal counts, as one that was rejected when it was
  // loaded. Empty otherwise.
  std::string fault;
  // The fault is not the answer's, as none came (an endpoint that is down): it was not judged.
  bool unanswered = false;
  bool drawn = false;  // it was waited for, for about as long as it is long
};

// What a policy thinks of a fragment before it writes it.
struct Guess {
  std::string family;
  double seconds = 0;  // of device time
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;
  // Changes with whatever else, besides name and versions, its answers depend on: part of the
  // address of results that are kept. What it learns does not count: that only improves answers.
  virtual std::string fingerprint() const { return {}; }
  // Waits until proposals can be made, for those who do minutes of other work before they ask for
  // any. InputError or EnvironmentError where none could be.
  virtual void prepare() {}
  // At most `count` proposals for `task` (usually a fragment), best guess first; none when the
  // policy cannot write it. `seed` makes the answer reproducible. `task.source` names the model's
  // file, and its class where the task is the model's whole forward program; the class of a part
  // is "fragment". Any thread, as are guess() and refusal(): more at a time than at_once() says
  // wait for each other where others are asked, and compute side by side where it is 1.
  virtual std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                        uint64_t seed,
                                        std::chrono::steady_clock::time_point deadline) = 0;
  // As propose(), but each proposal is taken as soon as there is one, in any order and one at a
  // time. What `wanted`, which any thread may ask, says no to is not waited for and left out.
  virtual void propose_each(const Task& task, const DeviceProfile& profile, int count,
                            uint64_t seed, std::chrono::steady_clock::time_point deadline,
                            const std::function<void(Proposal)>& take,
                            const std::function<bool()>& wanted) {
    for (Proposal& one : propose(task, profile, count, seed, deadline)) {
      if (wanted()) take(std::move(one));
    }
  }
  // What the first proposal for `task` would be, without writing it: asked of every fragment of a
  // program. Nothing when the policy cannot write it. Whoever waits or pays for proposals answers
  // otherwise than by making one.
  virtual std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    const std::vector<Proposal> first = propose(task, profile, 1, 0, soon);
    if (first.empty()) return {};
    return Guess{first[0].family, first[0].model_seconds};
  }
  // So many proposals are waited for at once: 1 of a policy that computes them itself.
  virtual int at_once() const { return 1; }
  // Each proposal of one propose() is an answer that is drawn by itself, and waited for beside the
  // others: another seed gives others, the same question may have better ones.
  virtual bool draws() const { return at_once() > 1; }
  // How long one propose() may take.
  virtual std::chrono::seconds patience() const { return std::chrono::seconds(60); }
  // What was asked of others and what it cost, since the policy was made (docs/policies.md); null
  // when nothing is.
  virtual Json costs() const { return {}; }
  // Told how proposals for one task did that were right: `schedule` and seconds of device time.
  virtual void learn(const std::vector<std::pair<Json, double>>& /*measured*/) {}
  // One line for people on why propose() gave nothing; empty when the policy does not say.
  virtual std::string refusal(const Task& /*task*/, const DeviceProfile& /*profile*/) { return {}; }
};

}  // namespace kw
