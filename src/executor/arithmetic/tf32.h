// TF32 as a device would round to it, for a CPU that stands in for one.
#pragma once

#include "executor/aten/aten.h"

namespace kw {

// A float32 tensor rounded to the nearest number with TF32's 10 bits of mantissa (ties away from
// zero, as PTX's cvt.rna.tf32 has it); others, and NaN and infinities, as they are. `dither`, where
// it is not 0: numbers between a quarter and three quarters of the way to either of their two
// neighbours, the nearer one more often. Which one hangs on `dither`, the shape, the place in it
// and the kind of device alone.
at::Tensor rounded_to_tf32(const at::Tensor& tensor, int32_t dither = 0);

}  // namespace kw
