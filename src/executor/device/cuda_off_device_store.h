// Tensors put away in device memory that is not mapped: while a candidate runs there is no address
// at which its kernels could find them.
#pragma once

#include "executor/aten/off_device_store.h"

namespace kw {

// Null when the device has no room for copies.
std::unique_ptr<Stowed> stow_unmapped(const std::vector<at::Tensor>& tensors);

}  // namespace kw
