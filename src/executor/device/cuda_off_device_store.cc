#include "executor/device/cuda_off_device_store.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "executor/aten/backend.h"
#include "executor/aten/cuda_driver.h"

namespace kw::exec {
namespace {

constexpr size_t kAlignment = 512;

size_t align_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

void synchronize() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) throw DeviceLost(cudaGetErrorString(error));
}

class Unmapped : public OffDeviceStore {
 public:
  ~Unmapped() override {
    const CudaDriver& driver = cuda_driver();
    if (mapped_) driver.mem_unmap(address_, bytes_);
    if (address_) driver.mem_address_free(address_, bytes_);
    if (memory_) driver.mem_release(memory_);
  }

  // Copies the tensors. Returns false if there is no room.
  bool take(const std::vector<at::Tensor>& tensors) {
    size_t end = 0;
    for (const at::Tensor& tensor : tensors) {
      places_.push_back({tensor.defined(), end, {}, at::kFloat});
      if (!tensor.defined()) continue;
      places_.back().sizes = tensor.sizes().vec();
      places_.back().type = tensor.scalar_type();
      end += align_up(tensor.numel() * tensor.element_size(), kAlignment);
    }
    if (!allocate(std::max<size_t>(end, 1))) return false;
    const std::vector<at::Tensor> inside = open();
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].defined()) inside[i].copy_(tensors[i]);
    }
    close();
    return true;
  }

  std::vector<at::Tensor> open() override {
    const CudaDriver& driver = cuda_driver();
    if (!mapped_) {
      driver.check(driver.mem_map(address_, bytes_, 0, memory_, 0), "mapping kept results");
      mapped_ = true;
      CUmemAccessDesc access{};
      access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      driver.check(driver.mem_set_access(address_, bytes_, &access, 1), "opening kept results");
    }
    std::vector<at::Tensor> out;
    for (const Place& place : places_) {
      if (!place.defined) {
        out.emplace_back();
        continue;
      }
      void* data = reinterpret_cast<void*>(address_ + place.offset);
      out.push_back(at::from_blob(data, place.sizes,
                                  at::TensorOptions().dtype(place.type).device(at::kCUDA, 0)));
    }
    return out;
  }

  void close() override {
    if (!mapped_) return;
    synchronize();
    cuda_driver().check(cuda_driver().mem_unmap(address_, bytes_), "closing kept results");
    mapped_ = false;
  }

 private:
  struct Place {
    bool defined;
    size_t offset;
    std::vector<int64_t> sizes;
    at::ScalarType type;
  };

  bool allocate(size_t bytes) {
    const CudaDriver& driver = cuda_driver();
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    size_t unit = 0;
    driver.check(
        driver.mem_get_allocation_granularity(&unit, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "memory granularity");
    bytes_ = align_up(bytes, unit);
    if (driver.mem_create(&memory_, bytes_, &wanted, 0) != CUDA_SUCCESS) {
      memory_ = 0;
      c10::cuda::CUDACachingAllocator::emptyCache();
      if (driver.mem_create(&memory_, bytes_, &wanted, 0) != CUDA_SUCCESS) {
        memory_ = 0;
        return false;
      }
    }
    driver.check(driver.mem_address_reserve(&address_, bytes_, 0, 0, 0), "reserving addresses");
    return true;
  }

  CUmemGenericAllocationHandle memory_ = 0;
  CUdeviceptr address_ = 0;
  size_t bytes_ = 0;
  bool mapped_ = false;
  std::vector<Place> places_;
};

}  // namespace

std::unique_ptr<OffDeviceStore> store_unmapped(const std::vector<at::Tensor>& tensors) {
  auto out = std::make_unique<Unmapped>();
  if (!out->take(tensors)) return nullptr;
  return out;
}

}  // namespace kw::exec
