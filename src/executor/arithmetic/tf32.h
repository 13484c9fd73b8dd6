// Rounds to TF32 as a device does, for a CPU that replaces one.
#pragma once

#include "executor/aten/aten.h"

namespace kw::exec {

// Returns a float32 tensor rounded to the nearest number with TF32's 10 bits of mantissa. Ties go
// away from zero, as in PTX's cvt.rna.tf32. Other dtypes, NaN and infinities stay as they are. If
// `dither` is not 0, numbers between a quarter and three quarters of the way are rounded to either
// neighbour, more often to the nearer one. The choice depends only on `dither`, the shape, the
// place in it and the kind of device.
at::Tensor rounded_to_tf32(const at::Tensor& tensor, int32_t dither = 0);

}  // namespace kw::exec
