// The built-in kernel writer. Lowers a fragment to loops, lets each family list its schedules, and
// writes the ones its roofline likes best. Deterministic: the answer depends on the fragment, the
// device profile and the count alone. Any thread.
#pragma once

#include <memory>

#include "policy/policy.h"

namespace kw {

std::unique_ptr<Policy> make_teacher();

namespace teacher {

// Why `task` is not written; empty when it is.
std::string refusal(const Task& task, const DeviceProfile& profile);

}  // namespace teacher
}  // namespace kw
