// The built-in kernel writer. Lowers a fragment to loops, lets each family list its schedules, and
// writes the ones its roofline likes best. Deterministic: the answer depends on its options, the
// fragment, the device profile, the count and, where it explores, the seed. Any thread.
#pragma once

#include <memory>

#include "policy/policy.h"

namespace kw {

struct TeacherOptions {
  // Share of each answer, at its end, that is drawn at random (by propose()'s seed) from the
  // schedules beyond the best ones: for measurements that a model is to be fitted on.
  double explore = 0;
};

std::unique_ptr<Policy> make_teacher(const TeacherOptions& options = {});

namespace teacher {

// Why `task` is not written; empty when it is.
std::string refusal(const Task& task, const DeviceProfile& profile);

}  // namespace teacher
}  // namespace kw
