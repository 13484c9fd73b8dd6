// Buffers with guard regions, and poison.
//
// Poison is the 16-bit pattern 0x7ffd repeated. It is a NaN in every floating type, 253 and 127 as
// bytes, and a large number as wider integers. A Guards object makes 512-byte aligned buffers that
// hold poison inside and for at least 4 KiB on both sides. It watches the bytes outside. So a
// kernel that writes past its buffer is caught, and one that reads past it sees NaN. Buffers may
// outlive the Guards. Guards are for one thread. Checks run on the buffers' device, and intact()
// alone reads their result.
#pragma once

#include <vector>

#include "executor/aten/aten.h"
#include "ops/dtype.h"

namespace kw::exec {

constexpr int64_t kGuardBytes = 4096;
constexpr int64_t kBufferAlignment = 512;
constexpr int16_t kPoison = 0x7ffd;
// A pattern to use instead of poison. It is a number in every floating type, as in memory that was
// used before. So a kernel that looks for poison does not find it.
constexpr int16_t kUsedMemory = 0x3a35;

at::ScalarType scalar_type(DType dtype);
DType dtype_of(at::ScalarType type);
// Returns a complex tensor as a real one with a last dimension of two: real and imaginary parts.
// Returns any other tensor as it is.
at::Tensor parts_of(const at::Tensor& tensor);

// Overwrites the whole storage of a tensor of any dtype.
void poison_storage(const at::Tensor& tensor);
// Overwrites the copy that a conversion of `of` made; does nothing if it made none.
void poison_copy(const at::Tensor& copy, const at::Tensor& of);

class Guards {
 public:
  explicit Guards(at::Device device, int16_t pattern = kPoison)
      : device_(device), pattern_(pattern) {}
  // Returns guards whose buffers are overwritten once no tensor holds them. Later kernels may find
  // freed memory, and answers in place are in copies of inputs.
  static Guards overwriting(at::Device device) {
    Guards out(device);
    out.overwrites_ = true;
    return out;
  }

  // Returns guards that guard nothing: buffers are as the device gives them, so that a checker of
  // memory sees where they end and what nobody has written.
  static Guards bare(at::Device device) {
    Guards out(device);
    out.bare_ = true;
    return out;
  }

  // Returns a poisoned buffer of the layout that at::empty_strided would make.
  at::Tensor empty(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type);
  // Copies tensors, with one buffer for each distinct storage, so that aliases stay aliases.
  std::vector<at::Tensor> copy(const std::vector<at::Tensor>& tensors);
  // Checks the buffers that no tensor holds any more, and frees them.
  void sweep();
  // Returns true if no guard byte of any buffer made so far has changed. Waits for the device.
  bool intact();

 private:
  struct Region {
    at::Tensor raw;      // bytes
    int64_t begin, end;  // bytes of `raw` at which the buffer begins and ends
    c10::weak_intrusive_ptr<c10::StorageImpl> buffer;
  };
  // Returns `count` bytes with the pattern around them, and inside too if `fill_inside`.
  at::Tensor bytes(int64_t count, bool fill_inside);
  void check(const std::vector<Region>& regions);
  void check_by_operators(const Region& region);

  at::Device device_;
  int16_t pattern_;
  bool overwrites_ = false, bare_ = false;
  std::vector<Region> regions_;
  at::Tensor broken_;  // one bool on the device
};

}  // namespace kw::exec
