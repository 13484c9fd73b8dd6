// What policies that do not compute their answers need to know about a task: its names, and how
// fast a kernel for it could be. Pure functions.
#pragma once

#include <string>

#include "policy/policy.h"

namespace kw {

// Returns the canonical hash of the forward program with its arguments and results, in 64
// hexadecimal digits. Equal functions have equal hashes; the inputs' origin and the device do not
// matter.
std::string forward_hash(const Task& task);
// Returns the hash with sizes erased. Code that reads its shapes serves all tasks of one such hash.
std::string forward_structure_hash(const Task& task);
// Returns the model's file name without its ending if the task is the model's whole forward
// program; else an empty string.
std::string model_name(const Task& task);
// Returns the seconds of a kernel that reads each input once, writes each result once and computes
// at the rate of tensor cores.
double least_seconds(const Task& task, const DeviceProfile& profile);

}  // namespace kw
