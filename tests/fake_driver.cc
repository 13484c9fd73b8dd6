// A libcuda that writes down what it is told to launch: the function, the grid, the threads of a
// program, shared memory, the stream, and of each parameter as many bytes as the environment's
// PARAMETERS says ("8 128 4").
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

CUresult written(CUfunction function, const unsigned (&sizes)[7], CUstream stream,
                 void** parameters) {
  std::printf("%p", reinterpret_cast<void*>(function));
  for (unsigned size : sizes) std::printf(" %u", size);
  std::printf(" %p", reinterpret_cast<void*>(stream));
  char* next = std::getenv("PARAMETERS");
  while (const long bytes = std::strtol(next, &next, 10)) {
    std::printf(" ");
    for (long i = 0; i < bytes; ++i)
      std::printf("%02x", static_cast<unsigned char*>(*parameters)[i]);
    ++parameters;
  }
  std::printf("\n");
  std::fflush(stdout);
  const auto number = reinterpret_cast<size_t>(function);
  return number == 0xbad  ? CUDA_ERROR_ILLEGAL_ADDRESS
         : number == 0xc0 ? CUDA_ERROR_INVALID_CONTEXT
                          : CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
                        void** parameters, void**) {
  return written(function, {x, y, z, block_x, block_y, block_z, shared}, stream, parameters);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* of, CUfunction function, void** parameters,
                          void**) {
  return written(function,
                 {of->gridDimX, of->gridDimY, of->gridDimZ, of->blockDimX, of->blockDimY,
                  of->blockDimZ, of->sharedMemBytes},
                 of->hStream, parameters);
}
// A map has all that it was made of.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  unsigned char bytes[sizeof *map] = {};
  unsigned char* end = bytes;
  const auto put = [&](auto value) {
    const auto narrow = static_cast<unsigned>(value);  // 31 numbers have to fit
    std::memcpy(end, &narrow, sizeof narrow);
    end += sizeof narrow;
  };
  put(type), put(rank), put(interleave * 1000 + swizzle * 100 + promotion * 10 + fill);
  put(reinterpret_cast<size_t>(address)), put(reinterpret_cast<size_t>(address) >> 32);
  for (unsigned i = 0; i < rank; ++i) put(sizes[i]), put(box[i]), put(steps[i]);
  for (unsigned i = 0; i + 1 < rank; ++i) put(strides[i]), put(strides[i] >> 32);
  std::memcpy(map, bytes, sizeof bytes);
  return reinterpret_cast<size_t>(address) % 16 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "an illegal address";
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(1);
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* out, CUpointer_attribute, CUdeviceptr pointer) {
  std::memcpy(out, &pointer, sizeof pointer);
  return CUDA_SUCCESS;
}

}  // extern "C"
