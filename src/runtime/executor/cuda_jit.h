// CUDA code of the executor's own, compiled at run time for the device that is there, so that a
// build needs no nvcc. Compiled only where PyTorch has CUDA.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

namespace kw {

// The function `name` of `source`, compiled by NVRTC with `defines` ("-DX=1"). Compiled and loaded
// once; lives as long as the process, in whose only context it is. Null when there is no NVRTC or
// it refuses.
CUfunction jit_function(const char* source, const char* name,
                        const std::vector<std::string>& defines = {});

}  // namespace kw
