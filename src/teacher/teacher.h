// The built-in kernel writer. Lowers a fragment to loops, lets each family list its schedules, and
// writes the ones its roofline likes best. Deterministic: the answer depends on its options, the
// fragment, the device profile, the count and, where it explores, the seed. Any thread.
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
  // Share of each answer, at its end, that is drawn at random (by propose()'s seed) from the
  // schedules beyond the best ones: for measurements that a model is to be fitted on.
  double explore = 0;
  // Tasks are programs, not fragments that a search has chosen: values may be stored between steps,
  // so that a program is written whose steps can be, unless its results share memory.
  bool whole = false;
  // Names as a task's text has them (task_text), for pairs that a model learns from: results of
  // steps are t<first_name>, t<first_name + 1>, ..., kernels k<first_name>, ... Without: variables
  // are called by what they are, kernels by what is in them.
  std::optional<int> first_name;
};

std::unique_ptr<Policy> make_teacher(const TeacherOptions& options = {});

namespace teacher {

// Why `task` is not written; empty when it is.
std::string refusal(const Task& task, const DeviceProfile& profile);

}  // namespace teacher
}  // namespace kw
