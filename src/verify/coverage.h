// How much of the reference's work a candidate's Triton kernels took over.
#pragma once

#include <string>
#include <vector>

#include "program/cost.h"
#include "program/program.h"

namespace kw {

// Whether PyTorch computes there: an operator that is no view, or that is not known.
bool is_computing(const Step& step);

struct Coverage {
  double share = 0;                         // larger of the two below
  double flops_share = 0, bytes_share = 0;  // max(0, ref - aten left alive) / ref
  int launches_alive = 0;
  std::vector<std::string> aten_left;  // computing operators still alive, in order
};

// share = max(0, cost(reference) - cost(aten steps alive in the candidate)) / cost(reference), for
// floating-point operations and for bytes. Alive: its effect reaches an output (live_steps). Both
// sides are priced as recorded (step_cost) and with fused operators spelled out as the steps that
// they replace (spelled_cost); the smaller share counts.
// `idle_launches` are forward steps found to change nothing when left out; they earn no share, so
// with only such launches the share is zero.
Coverage coverage(const Task& reference, const Task& candidate,
                  const std::vector<int>& idle_launches = {});

}  // namespace kw
