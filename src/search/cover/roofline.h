// A model of device time, for machines without the device and for steps not measured yet.
#pragma once

#include "program/cost.h"
#include "worker/device_profile.h"

namespace kw {

// Returns max(bytes / bandwidth, flops / rate) + one launch gap; 0 for views and reserved memory.
// The rate follows PyTorch's defaults: matrix products of fp32 run in IEEE fp32 on the CUDA cores,
// convolutions of fp32 on TF32 tensor cores, half types on theirs.
double step_seconds(const Program& program, const Step& step, const DeviceProfile& profile);

}  // namespace kw
