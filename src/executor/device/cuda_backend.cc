#include "executor/device/cuda_backend.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <map>

#include "executor/aten/cuda_driver.h"
#include "executor/compare/compare.h"
#include "executor/compare/scales.h"
#include "executor/device/cuda_off_device_store.h"
#include "executor/device/launch_params.h"
#include "formats/base/error.h"

namespace kw::exec {
namespace {

constexpr int64_t kStaticSharedLimit = 48 << 10;  // above it a function must opt in

// One function of one loaded module.
struct CudaFunction {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

CUstream current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

// Launches as triton/backends/nvidia/driver.c does: with clusters for several CTAs, programmatic
// stream serialization and cooperative grids.
class CudaLaunch : public PreparedLaunch {
 public:
  // `clears_scratch` outlives this: Backend::clear_scratch().
  CudaLaunch(const Kernel& kernel, const Launch& launch, CUfunction function,
             const bool& clears_scratch)
      : driver_(cuda_driver()),
        clears_scratch_(clears_scratch),
        params_(kernel, launch),
        maps_(tensor_maps(kernel, launch)),
        function_(function) {
    const Compiled& compiled = *kernel.compiled;
    const int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
    empty_ = blocks == 0;
    config_.gridDimX = static_cast<unsigned>(launch.grid[0] * compiled.num_ctas);
    config_.gridDimY = static_cast<unsigned>(launch.grid[1]);
    config_.gridDimZ = static_cast<unsigned>(launch.grid[2]);
    config_.blockDimX = static_cast<unsigned>(32 * compiled.num_warps);
    config_.blockDimY = config_.blockDimZ = 1;
    config_.sharedMemBytes = static_cast<unsigned>(compiled.shared);
    global_scratch_ = blocks * compiled.num_ctas * compiled.global_scratch_size;
    profile_scratch_ = blocks * compiled.num_ctas * compiled.profile_scratch_size;
    add_attributes(compiled);
    config_.attrs = attributes_.data();
    config_.numAttrs = static_cast<unsigned>(attributes_.size());
  }

  bool run(std::span<const at::Tensor> tensors) override {
    if (empty_) return true;
    for (size_t a = 0; a < tensors.size(); ++a) {
      if (tensors[a].defined()) params_.set_pointer(a, tensors[a].data_ptr());
    }
    for (const TensorMapParams& map : maps_) set_tensor_map(map, tensors[map.arg].data_ptr());
    // Scratch memory is freed at the end of this call, in stream order.
    const at::Tensor global = scratch(global_scratch_), profile = scratch(profile_scratch_);
    params_.set_scratch(global.defined() ? global.data_ptr() : nullptr,
                        profile.defined() ? profile.data_ptr() : nullptr);
    config_.hStream = current_stream();
    driver_.check(driver_.launch_kernel_ex(&config_, function_, params_.addresses(), nullptr),
                  "launch");
    return true;
  }

 private:
  void add_attributes(const Compiled& compiled) {
    CUlaunchAttribute attribute{};
    if (compiled.launch_pdl) {
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
      attributes_.push_back(attribute);
    }
    if (compiled.launch_cooperative_grid) {
      attribute = {};
      attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attribute.value.cooperative = 1;
      attributes_.push_back(attribute);
    }
    if (compiled.num_ctas == 1) return;
    attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = static_cast<unsigned>(compiled.num_ctas);
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    attributes_.push_back(attribute);
    attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
    attribute.value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
    attributes_.push_back(attribute);
  }

  // Does what fillTMADescriptorTiled of triton/backends/nvidia/driver.c does.
  void set_tensor_map(const TensorMapParams& map, void* address) {
    static constexpr std::array<uint32_t, 5> kElementStrides{1, 1, 1, 1, 1};
    CUtensorMap encoded{};
    driver_.check(driver_.tensor_map_encode_tiled(
                      &encoded, static_cast<CUtensorMapDataType>(map.element_type),
                      static_cast<cuuint32_t>(map.rank), address, map.sizes.data(),
                      map.strides.data(), map.box.data(), kElementStrides.data(),
                      CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(map.swizzle),
                      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                  "a tensor descriptor");
    params_.set_tensor_map(map.arg, &encoded);
  }

  at::Tensor scratch(int64_t bytes) const {
    if (bytes == 0) return {};
    const auto options = at::TensorOptions().dtype(at::kByte).device(at::kCUDA);
    return clears_scratch_ ? at::zeros({bytes}, options) : at::empty({bytes}, options);
  }

  const CudaDriver& driver_;
  const bool& clears_scratch_;
  LaunchParams params_;
  std::vector<TensorMapParams> maps_;
  CUfunction function_;
  CUlaunchConfig config_{};
  std::vector<CUlaunchAttribute> attributes_;
  int64_t global_scratch_ = 0, profile_scratch_ = 0;
  bool empty_ = false;
};

// Modules are loaded at the first launch of their kernel and unloaded with the task.
class CudaKernels : public KernelSet {
 public:
  CudaKernels(const std::vector<Kernel>& kernels, const bool& clears_scratch)
      : kernels_(kernels), clears_scratch_(clears_scratch) {}
  ~CudaKernels() override {
    for (const auto& [index, loaded] : loaded_) cuda_driver().module_unload(loaded.module);
  }

  std::unique_ptr<PreparedLaunch> prepare(const Launch& launch) override {
    const Kernel& kernel = kernels_.at(launch.kernel);
    if (!kernel.compiled || kernel.compiled->cubin.empty()) {
      throw InputError("kernel " + kernel.name + " has no machine code");
    }
    return std::make_unique<CudaLaunch>(kernel, launch, function(launch.kernel), clears_scratch_);
  }

 private:
  CUfunction function(int index) {
    const auto found = loaded_.find(index);
    if (found != loaded_.end()) return found->second.function;
    const Kernel& kernel = kernels_[index];
    const CudaDriver& driver = cuda_driver();
    CudaFunction loaded;
    driver.check(driver.module_load_data(&loaded.module, kernel.compiled->cubin.data()),
                 "loading " + kernel.name);
    loaded_.emplace(index, loaded);  // from here on the destructor unloads it
    CudaFunction& entry = loaded_[index];
    driver.check(
        driver.module_get_function(&entry.function, entry.module, kernel.compiled->symbol.c_str()),
        "finding " + kernel.compiled->symbol);
    opt_in(*kernel.compiled, entry.function);
    return entry.function;
  }

  static void opt_in(const Compiled& compiled, CUfunction function) {
    const CudaDriver& driver = cuda_driver();
    int available = 0, fixed = 0;
    driver.check(driver.device_get_attribute(
                     &available, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0),
                 "shared memory limit");
    driver.check(driver.func_get_attribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
                 "static shared memory");
    if (compiled.shared > available - fixed) {
      throw InputError("needs " + std::to_string(compiled.shared) +
                       " bytes of shared memory, the device has " + std::to_string(available));
    }
    if (compiled.shared > kStaticSharedLimit) {
      driver.check(driver.func_set_cache_config(function, CU_FUNC_CACHE_PREFER_SHARED), "cache");
      driver.check(
          driver.func_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    available - fixed),
          "shared memory");
    }
    if (compiled.num_ctas == 16) {  // beyond the portable cluster size of 8
      driver.check(driver.func_set_attribute(
                       function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                   "cluster size");
    }
  }

  std::vector<Kernel> kernels_;
  const bool& clears_scratch_;
  std::map<int, CudaFunction> loaded_;
};

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(int sharers) : sharers_(sharers) {
    int count = 0;
    const cudaError_t found = cudaGetDeviceCount(&count);
    if (found != cudaSuccess || count == 0) {
      throw EnvironmentError(
          std::string("--backend cuda: no usable GPU (") +
          (found == cudaSuccess ? "none is visible" : cudaGetErrorString(found)) + ")");
    }
    at::globalContext().lazyInitDevice(at::kCUDA);
    require(cudaSetDevice(0), "device 0");
    require(cudaFree(nullptr), "the primary context");
    require(cudaGetDeviceProperties(&properties_, 0), "device properties");
    cuda_driver();
  }

  at::Device device() const override { return {at::kCUDA, 0}; }
  Json describe() const override {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    return {{"backend", "cuda"},
            {"device", properties_.name},
            {"arch", "sm_" + std::to_string(properties_.major * 10 + properties_.minor)},
            {"total_memory", properties_.totalGlobalMem},
            {"sms", properties_.multiProcessorCount},
            {"l2_bytes", properties_.l2CacheSize},
            {"driver", driver},
            {"cuda", runtime}};
  }
  std::unique_ptr<KernelSet> load(const std::vector<Kernel>& kernels) override {
    return std::make_unique<CudaKernels>(kernels, clears_scratch_);
  }
  void clear_scratch(bool clear) override { clears_scratch_ = clear; }
  bool isolated() const override { return false; }
  bool deterministic() const override { return false; }
  std::unique_ptr<OffDeviceStore> store_off_device(
      const std::vector<at::Tensor>& tensors) override {
    return store_unmapped(tensors);
  }
  // The rest is for candidates, of whose inputs and results there are several copies.
  int64_t off_device_bytes() const override {
    return static_cast<int64_t>(properties_.totalGlobalMem / 5 * 3) / sharers_;
  }
  // Compiles the kernels that compare float32 and count exponents, and loads cuBLAS and cuDNN. That
  // takes about a second, while workers import torch.
  void get_ready() override {
    c10::InferenceMode inference;
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device());
    const at::Tensor image = at::randn({1, 1, 32, 32}, options), x = image[0][0];
    compare(x, x, x.to(at::kDouble), device(), true);
    compare(x, x, x, device(), false);
    scale_gap(x.to(at::kDouble), at::kFloat);
    x.mm(x), x.to(at::kDouble).mm(x.to(at::kDouble));
    at::conv2d(image, image.narrow(2, 0, 3).narrow(3, 0, 3));
    synchronize();
  }
  void release_memory() override { c10::cuda::CUDACachingAllocator::emptyCache(); }
  void keep_own_part() override {
    if (sharers_ == 1) return;
    const auto& bytes = c10::cuda::CUDACachingAllocator::getDeviceStats(0).reserved_bytes;
    if (bytes[kAll].current > static_cast<int64_t>(properties_.totalGlobalMem) / sharers_) {
      release_memory();
    }
  }
  void synchronize() override {
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) throw DeviceLost(cudaGetErrorString(error));
  }
  void reset_peak_bytes() override { c10::cuda::CUDACachingAllocator::resetPeakStats(0); }
  int64_t peak_bytes() const override {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(0).allocated_bytes[kAll].peak;
  }
  void check_alive() override {
    cudaGetLastError();  // forgets an error that harmed one call only
    synchronize();       // a sticky one comes back
  }

 private:
  static constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

  static void require(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    throw EnvironmentError(std::string("--backend cuda: ") + what + ": " +
                           cudaGetErrorString(error));
  }
  const int sharers_;
  bool clears_scratch_ = false;
  cudaDeviceProp properties_{};
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int sharers) {
  return std::make_unique<CudaBackend>(sharers);
}

}  // namespace kw::exec
