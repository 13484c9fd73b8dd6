#include "executor/aten/cuda_driver.h"

#include <dlfcn.h>

#include "executor/aten/backend.h"
#include "formats/base/error.h"

namespace kw::exec {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) {
    throw EnvironmentError(std::string("the CUDA driver has no ") + name + ": it is too old");
  }
}

CudaDriver load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw EnvironmentError("no CUDA driver: libcuda.so.1 cannot be loaded");
  CudaDriver driver;
  find(library, "cuModuleLoadData", driver.module_load_data);
  find(library, "cuModuleUnload", driver.module_unload);
  find(library, "cuModuleGetFunction", driver.module_get_function);
  find(library, "cuFuncSetAttribute", driver.func_set_attribute);
  find(library, "cuFuncGetAttribute", driver.func_get_attribute);
  find(library, "cuFuncSetCacheConfig", driver.func_set_cache_config);
  find(library, "cuDeviceGetAttribute", driver.device_get_attribute);
  find(library, "cuLaunchKernelEx", driver.launch_kernel_ex);
  find(library, "cuTensorMapEncodeTiled", driver.tensor_map_encode_tiled);
  find(library, "cuMemGetAllocationGranularity", driver.mem_get_allocation_granularity);
  find(library, "cuMemCreate", driver.mem_create);
  find(library, "cuMemRelease", driver.mem_release);
  find(library, "cuMemAddressReserve", driver.mem_address_reserve);
  find(library, "cuMemAddressFree", driver.mem_address_free);
  find(library, "cuMemMap", driver.mem_map);
  find(library, "cuMemUnmap", driver.mem_unmap);
  find(library, "cuMemSetAccess", driver.mem_set_access);
  find(library, "cuGetErrorString", driver.get_error_string);
  return driver;
}

}  // namespace

void CudaDriver::check(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  get_error_string(result, &text);
  throw ReplayError(what + ": " + (text ? text : "unknown CUDA error"));
}

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = load_driver();
  return driver;
}

}  // namespace kw::exec
