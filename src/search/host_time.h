// How long the host takes to begin a call of optimized.py. A call takes this or the device's time,
// whichever is larger.
#pragma once

#include "program/program.h"

namespace kw {

// Seconds, modelled by the number of steps. 0 where a CUDA graph may stand for them: the host then
// begins one launch.
double host_seconds(const Task& task);

}  // namespace kw
