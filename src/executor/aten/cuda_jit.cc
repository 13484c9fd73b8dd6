#include "executor/aten/cuda_jit.h"

#include <c10/cuda/CUDAStream.h>
#include <dlfcn.h>

#include <map>
#include <optional>
#include <tuple>

#include "executor/aten/cuda_driver.h"

namespace kw::exec {
namespace {

// The few entry points of NVRTC that are needed; not every wheel has its headers. 0 is success.
struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*destroy)(Program*);
};

// Finds NVRTC. PyTorch's own library for its just-in-time kernels is linked against the NVRTC that
// it came with, so that library is tried first.
const Nvrtc* nvrtc() {
  static const std::optional<Nvrtc> found = []() -> std::optional<Nvrtc> {
    for (const char* name : {"libcaffe2_nvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}) {
      void* library = dlopen(name, RTLD_NOW);
      if (!library) continue;
      Nvrtc all{};
      const auto find = [&](const char* symbol, auto& function) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
        return function != nullptr;
      };
      if (find("nvrtcCreateProgram", all.create) && find("nvrtcCompileProgram", all.compile) &&
          find("nvrtcGetCUBINSize", all.cubin_size) && find("nvrtcGetCUBIN", all.cubin) &&
          find("nvrtcDestroyProgram", all.destroy)) {
        return all;
      }
    }
    return std::nullopt;
  }();
  return found ? &*found : nullptr;
}

std::string compiled(const char* source, const std::vector<std::string>& defines) {
  if (!nvrtc()) return {};
  const CudaDriver& driver = cuda_driver();
  int major = 0, minor = 0;
  driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  driver.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  const std::string arch = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  std::vector<const char*> options = {arch.c_str(), "--std=c++17"};
  for (const std::string& define : defines) options.push_back(define.c_str());
  Nvrtc::Program program = nullptr;
  if (nvrtc()->create(&program, source, "jit.cu", 0, nullptr, nullptr) != 0) return {};
  std::string cubin;
  size_t size = 0;
  if (nvrtc()->compile(program, static_cast<int>(options.size()), options.data()) == 0 &&
      nvrtc()->cubin_size(program, &size) == 0) {
    cubin.resize(size);
    if (nvrtc()->cubin(program, cubin.data()) != 0) cubin.clear();
  }
  nvrtc()->destroy(&program);
  return cubin;
}

}  // namespace

CUfunction jit_function(const char* source, const char* name,
                        const std::vector<std::string>& defines) {
  static std::map<std::tuple<const char*, std::string, std::vector<std::string>>, CUfunction> known;
  const auto [entry, fresh] = known.try_emplace({source, name, defines}, nullptr);
  if (!fresh) return entry->second;
  const std::string cubin = compiled(source, defines);
  if (cubin.empty()) return nullptr;
  const CudaDriver& driver = cuda_driver();
  CUmodule module = nullptr;
  driver.check(driver.module_load_data(&module, cubin.data()), std::string("loading ") + name);
  driver.check(driver.module_get_function(&entry->second, module, name),
               std::string("finding ") + name);
  return entry->second;
}

void JitLaunch::start(void** addresses) const {
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shared);
  config.hStream = c10::cuda::getCurrentCUDAStream().stream();
  const CudaDriver& driver = cuda_driver();
  driver.check(driver.launch_kernel_ex(&config, function, addresses, nullptr), what);
}

}  // namespace kw::exec
