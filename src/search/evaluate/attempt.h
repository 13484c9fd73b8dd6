#pragma once

#include <string>
#include <vector>

#include "formats/json.h"

namespace kw {

enum class AttemptStatus {
  kNotJudged,  // not tried, or it ended for a reason that says nothing about it
  kRejected,
  kAccepted
};

// A proposal for a fragment, and what became of it.
struct Attempt {
  std::vector<int> steps;  // forward steps of the base
  std::string family, plan, source;
  Json schedule;  // as the policy describes it; null if the attempt comes from the store
  AttemptStatus status = AttemptStatus::kNotJudged;
  std::string reason;     // why it was rejected: "stage: reason"
  bool settled = true;    // false if it ended for a reason that another run may not meet
  bool measured = false;  // times below were measured, not modelled
  double eager_seconds = 0, seconds = 0;
  bool from_store = false;
  bool chosen = false;  // part of the final cover

  bool accepted() const { return status == AttemptStatus::kAccepted; }
};

}  // namespace kw
