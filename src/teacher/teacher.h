// The built-in kernel writer. It lowers a fragment to loops, lets each family list its schedules,
// and writes those that its roofline model estimates to be fastest. It is deterministic: the answer
// depends on its options, the fragment, the device profile, the count and, if it explores, the
// seed. Any thread may use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/policy.h"
#include "teacher/schedule/schedule_memory.h"

namespace kw {

struct TeacherOptions {
  teacher::ScheduleTable schedules;  // of the device that is written for
  ScheduleMemory* memory = nullptr;  // borrowed; asked before `schedules`
  // The last share of each answer is drawn at random (by propose()'s seed) from the schedules
  // beyond the best ones. It is for measurements that a model is fitted on.
  double explore = 0;
  // Tasks are programs, not fragments that a search has chosen. Values may be stored between steps,
  // so that a program is written if its steps can be, unless its results share memory.
  bool whole = false;
  // Names as a task's text has them (task_text), for pairs that a model learns from: results of
  // steps are t<first_name>, t<first_name + 1>, ..., kernels k<first_name>, ... Without: variables
  // are called by what they are, kernels by what is in them.
  std::optional<int> first_name;
};

std::unique_ptr<Policy> make_teacher(const TeacherOptions& options = {});

namespace teacher {

// Returns why `task` is not written; empty if it is.
std::string refusal(const Task& task, const DeviceProfile& profile);

}  // namespace teacher
}  // namespace kw
