// CUDA code of the executor's own, compiled at run time for the device that is there, so that a
// build needs no nvcc. Compiled only where PyTorch has CUDA.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kw {

// The function `name` of `source`, compiled by NVRTC with `defines` ("-DX=1"). Compiled and loaded
// once; lives as long as the process, in whose only context it is. Null when there is no NVRTC or
// it refuses.
CUfunction jit_function(const char* source, const char* name,
                        const std::vector<std::string>& defines = {});

// `function` on PyTorch's current stream, with blocks and threads along x and `shared` bytes of
// dynamic memory; each argument is of its parameter's type. Throws ReplayError with `what`.
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

}  // namespace kw
