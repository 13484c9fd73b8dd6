// What policies that do not compute their answers need to know of a task: what it is called, and
// how fast a kernel for it could be. Pure functions.
#pragma once

#include <string>

#include "policy/policy.h"

namespace kw {

// The canonical hash of the forward program with its arguments and results: equal for equal
// functions, whatever makes their inputs and whatever the device. 64 hexadecimal digits.
std::string forward_hash(const Task& task);
// The same with sizes erased: code that reads its shapes serves all tasks of one.
std::string forward_structure_hash(const Task& task);
// The model's file without its ending, where the task is the model's whole forward program; else
// empty.
std::string model_name(const Task& task);
// A kernel that reads each input once, writes each result once and computes at the rate of tensor
// cores takes this long.
double least_seconds(const Task& task, const DeviceProfile& profile);

}  // namespace kw
