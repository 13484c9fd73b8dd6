// Buffers with guard regions, and poison.
//
// Poison is the 16-bit pattern 0x7ffd repeated: a NaN in every floating type, 253/127 as bytes, a
// large number as wider integers. A Guards object makes buffers that are poison inside and for at
// least 4 KiB on both sides, 512-byte aligned, and watches the bytes outside: a kernel that writes
// past its buffer is caught, one that reads past it sees NaN. Buffers may outlive the Guards. One
// thread; checks run on the buffers' device and are read once, by intact().
#pragma once

#include <vector>

#include "executor/aten/aten.h"
#include "ops/dtype.h"

namespace kw {

constexpr int64_t kGuardBytes = 4096;
constexpr int64_t kBufferAlignment = 512;
constexpr int16_t kPoison = 0x7ffd;
// In its place: a number in every floating type, as memory holds that was used before. A kernel
// that looks for poison does not find it.
constexpr int16_t kUsedMemory = 0x3a35;

at::ScalarType scalar_type(DType dtype);
DType dtype_of(at::ScalarType type);

// Overwrites the whole storage of a tensor, whatever its dtype.
void poison_storage(const at::Tensor& tensor);
// So, of a copy that a conversion made; not where it made none.
void poison_copy(const at::Tensor& copy, const at::Tensor& of);

class Guards {
 public:
  explicit Guards(at::Device device, int16_t pattern = kPoison)
      : device_(device), pattern_(pattern) {}
  // Of buffers that are overwritten when nobody holds them any more: later kernels may find freed
  // memory, and answers in place are in copies of inputs.
  static Guards overwriting(at::Device device) {
    Guards out(device);
    out.overwrites_ = true;
    return out;
  }

  // A poisoned buffer as at::empty_strided would make it.
  at::Tensor empty(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type);
  // Copies, one buffer for each distinct storage, so that what aliased before aliases after.
  std::vector<at::Tensor> copy(const std::vector<at::Tensor>& tensors);
  // Checks buffers that nobody holds any more and gives their memory back.
  void sweep();
  // True when no guard byte of any buffer made so far has changed. Waits for the device.
  bool intact();

 private:
  struct Region {
    at::Tensor raw;      // bytes
    int64_t begin, end;  // of the buffer inside raw
    c10::weak_intrusive_ptr<c10::StorageImpl> buffer;
  };
  // With the pattern around them, and in them unless something else will be.
  at::Tensor bytes(int64_t count, bool fill_inside);
  void check(const std::vector<Region>& regions);
  void check_by_operators(const Region& region);

  at::Device device_;
  int16_t pattern_;
  bool overwrites_ = false;
  std::vector<Region> regions_;
  at::Tensor broken_;  // one bool on the device
};

}  // namespace kw
