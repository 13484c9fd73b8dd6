// The few entry points of the CUDA driver that launches and kept results need. They are found in
// libcuda.so.1 at run time, so that nothing links against a driver. Compiled only if PyTorch has
// CUDA.
#pragma once

#include <cuda.h>

#include <string>

namespace kw::exec {

struct CudaDriver {
  decltype(&::cuModuleLoadData) module_load_data = nullptr;
  decltype(&::cuModuleUnload) module_unload = nullptr;
  decltype(&::cuModuleGetFunction) module_get_function = nullptr;
  decltype(&::cuFuncSetAttribute) func_set_attribute = nullptr;
  decltype(&::cuFuncGetAttribute) func_get_attribute = nullptr;
  decltype(&::cuFuncSetCacheConfig) func_set_cache_config = nullptr;
  decltype(&::cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&::cuLaunchKernelEx) launch_kernel_ex = nullptr;
  decltype(&::cuTensorMapEncodeTiled) tensor_map_encode_tiled = nullptr;
  decltype(&::cuMemGetAllocationGranularity) mem_get_allocation_granularity = nullptr;
  decltype(&::cuMemCreate) mem_create = nullptr;
  decltype(&::cuMemRelease) mem_release = nullptr;
  decltype(&::cuMemAddressReserve) mem_address_reserve = nullptr;
  decltype(&::cuMemAddressFree) mem_address_free = nullptr;
  decltype(&::cuMemMap) mem_map = nullptr;
  decltype(&::cuMemUnmap) mem_unmap = nullptr;
  decltype(&::cuMemSetAccess) mem_set_access = nullptr;
  decltype(&::cuGetErrorString) get_error_string = nullptr;

  // Throws ReplayError ("what: an illegal memory access was encountered") unless `result` is
  // success.
  void check(CUresult result, const std::string& what) const;
};

// Returns the loaded driver. Throws EnvironmentError if there is none, or if it is too old.
const CudaDriver& cuda_driver();

}  // namespace kw::exec
