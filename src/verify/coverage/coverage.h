// How much of the reference's work a candidate's Triton kernels took over.
#pragma once

#include <string>
#include <vector>

#include "program/cost.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw {

// Whether PyTorch computes there: an operator that is no view, or that is not known.
bool is_computing(const Step& step);

// What trials of a candidate found out about its launches.
struct LaunchFindings {
  std::vector<int> idle;  // forward steps that change nothing when they are left out
  std::vector<LaunchCopy> copies;

  bool empty() const { return idle.empty() && copies.empty(); }
};

struct Coverage {
  double share = 0;                         // larger of the two below
  double flops_share = 0, bytes_share = 0;  // of operations, and of bytes
  int launches_alive = 0;
  std::vector<int> copying;            // launches that only copy what PyTorch computed otherwise
  std::vector<std::string> aten_left;  // computing operators still alive, in order
};

// Compares the work of the reference with that of the candidate's aten steps that are alive, in
// floating-point operations and in bytes. Alive: the effect reaches an output (live_steps). Steps
// that the reference has too (left_work.h) are known, the others are not. The smaller counts of
//
//   (reference - left) / reference
//   (rest - other) / (rest + known)
//
// where `rest` is the least that the reference costs without what is known, and `other` the same of
// what is left (least_cost.h). So nobody is paid for work that algebra spares, and detours of
// PyTorch's steps are not held against the kernels a second time.
//
// All is priced as recorded (step_cost) and with fused operators spelled out as the steps that they
// replace (spelled_cost); the smaller share counts.
//
// Idle launches earn nothing. Nor do those that only copy what PyTorch computed by other steps than
// the reference's: PyTorch then did the work, however small its steps' price is. A candidate that
// has no other launches has a share of zero.
Coverage coverage(const Task& reference, const Task& candidate,
                  const LaunchFindings& findings = {});

}  // namespace kw
