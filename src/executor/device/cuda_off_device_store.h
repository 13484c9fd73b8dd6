// Keeps tensors in device memory that is not mapped. While a candidate runs, there is no address at
// which its kernels could find them.
#pragma once

#include "executor/aten/off_device_store.h"

namespace kw::exec {

// Returns null if the device has no room for copies.
std::unique_ptr<OffDeviceStore> store_unmapped(const std::vector<at::Tensor>& tensors);

}  // namespace kw::exec
