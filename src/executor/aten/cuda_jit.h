// Compiles the executor's own CUDA code at run time for the device in use, so that a build needs no
// nvcc. Compiled only if PyTorch has CUDA.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kw::exec {

// Returns the function `name` of `source`, compiled by NVRTC with `defines` ("-DX=1"). It is
// compiled and loaded once, into the process's only context, and lives as long as the process.
// Returns null if there is no NVRTC or if it refuses the source.
CUfunction jit_function(const char* source, const char* name,
                        const std::vector<std::string>& defines = {});

// Launches `function` on PyTorch's current stream, with blocks and threads along x and `shared`
// bytes of dynamic shared memory. Each argument has its parameter's type. Throws ReplayError with
// `what`.
struct JitLaunch {
  CUfunction function;
  const char* what;
  int64_t blocks, threads;
  size_t shared = 0;

  template <typename... Arguments>
  void operator()(Arguments... arguments) const {
    void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    start(addresses);
  }

 private:
  void start(void** addresses) const;
};

}  // namespace kw::exec
