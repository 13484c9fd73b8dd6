#include "executor/aten/guarded_memory.h"

#include <unordered_map>

#include "formats/base/error.h"
#ifdef KW_WITH_CUDA
#include "executor/aten/cuda_guarded_memory.h"
#endif

namespace kw::exec {
namespace {

int64_t align_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return at::kDouble;
    case DType::kFloat32:
      return at::kFloat;
    case DType::kFloat16:
      return at::kHalf;
    case DType::kBFloat16:
      return at::kBFloat16;
    case DType::kInt64:
      return at::kLong;
    case DType::kInt32:
      return at::kInt;
    case DType::kInt16:
      return at::kShort;
    case DType::kInt8:
      return at::kChar;
    case DType::kUInt8:
      return at::kByte;
    case DType::kBool:
      return at::kBool;
    case DType::kComplex64:
      return at::kComplexFloat;
    case DType::kComplex128:
      return at::kComplexDouble;
  }
  throw InputError("unknown dtype");
}

DType dtype_of(at::ScalarType type) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                      DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8,
                      DType::kBool, DType::kComplex64, DType::kComplex128}) {
    if (scalar_type(dtype) == type) return dtype;
  }
  throw InputError(std::string("dtype ") + c10::toString(type) + " is not supported");
}

at::Tensor parts_of(const at::Tensor& tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

namespace {

// Returns the storage of `tensor` as bytes, without a copy.
at::Tensor storage_bytes(const at::Tensor& tensor) {
  const int64_t count = static_cast<int64_t>(tensor.storage().nbytes());
  at::Tensor out = at::empty({0}, tensor.options().dtype(at::kByte));
  out.set_(tensor.storage(), 0, {count}, {1});
  return out;
}

void fill(const at::Tensor& bytes, int16_t pattern) {
  const int64_t even = bytes.numel() / 2 * 2;
  if (even > 0) bytes.narrow(0, 0, even).view(at::kShort).fill_(pattern);
  if (even < bytes.numel()) bytes.narrow(0, even, 1).fill_(pattern & 0xff);
}

}  // namespace

void poison_storage(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.storage().nbytes() > 0) fill(storage_bytes(tensor), kPoison);
}

void poison_copy(const at::Tensor& copy, const at::Tensor& of) {
  if (!copy.is_alias_of(of)) poison_storage(copy);
}

at::Tensor Guards::bytes(int64_t count, bool fill_inside) {
  const auto options = at::TensorOptions().dtype(at::kByte).device(device_);
  if (bare_) return at::empty({count}, options);
  at::Tensor raw = at::empty({align_up(count, 2) + 2 * kGuardBytes + kBufferAlignment}, options);
  const int64_t address = reinterpret_cast<int64_t>(raw.data_ptr());
  const int64_t begin = align_up(address + kGuardBytes, kBufferAlignment) - address;
  if (fill_inside) {
    fill(raw, pattern_);
  } else {
    fill(raw.narrow(0, 0, begin), pattern_);
    const int64_t after = (begin + count) / 2 * 2;
    fill(raw.narrow(0, after, raw.numel() - after), pattern_);
  }
  void* data = static_cast<char*>(raw.data_ptr()) + begin;
  const auto end = [raw, begin, count, overwrites = overwrites_](void*) {
    if (!overwrites) return;
    try {
      const c10::InferenceMode inference;
      fill(raw.narrow(0, begin, count), kPoison);
    } catch (const std::exception&) {  // a deleter must not throw; the device may be lost
    }
  };
  at::Tensor buffer = at::from_blob(data, {count}, {1}, end, options, device_);
  const c10::Storage& storage = buffer.storage();
  regions_.push_back({raw, begin, begin + count, storage.getWeakStorageImpl()});
  return buffer;
}

at::Tensor Guards::empty(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
  const size_t count = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type));
  at::Tensor buffer = bytes(static_cast<int64_t>(count), /*fill_inside=*/true);
  at::Tensor out = at::empty({0}, buffer.options().dtype(type));
  return out.set_(buffer.storage(), 0, sizes, strides);
}

std::vector<at::Tensor> Guards::copy(const std::vector<at::Tensor>& tensors) {
  std::unordered_map<c10::StorageImpl*, at::Tensor> copies;
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) {
      out.emplace_back();
      continue;
    }
    auto [it, fresh] = copies.try_emplace(tensor.storage().unsafeGetStorageImpl());
    if (fresh) {
      it->second = bytes(static_cast<int64_t>(tensor.storage().nbytes()), /*fill_inside=*/false);
      if (it->second.numel() > 0) it->second.copy_(storage_bytes(tensor));
    }
    at::Tensor twin = at::empty({0}, it->second.options().dtype(tensor.scalar_type()));
    out.push_back(
        twin.set_(it->second.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides()));
  }
  return out;
}

void Guards::check(const std::vector<Region>& regions) {
  if (regions.empty()) return;
  if (!broken_.defined()) {
    broken_ = at::zeros({}, at::TensorOptions().dtype(at::kBool).device(device_));
  }
#ifdef KW_WITH_CUDA
  if (device_.is_cuda()) {
    std::vector<ByteRange> ranges;
    for (const Region& region : regions) {
      const auto* data = static_cast<const uint8_t*>(region.raw.const_data_ptr());
      ranges.push_back({data, region.begin});
      ranges.push_back({data + region.end, region.raw.numel() - region.end});
    }
    if (note_overwritten_on_cuda(ranges, pattern_, broken_)) return;
  }
#endif
  for (const Region& region : regions) check_by_operators(region);
}

void Guards::check_by_operators(const Region& region) {
  const at::Tensor& raw = region.raw;
  const int64_t end_even = align_up(region.end, 2), total = raw.numel() / 2 * 2;
  const auto differs = [&](int64_t begin, int64_t end) {
    return raw.narrow(0, begin, end - begin).view(at::kShort).ne(pattern_).any();
  };
  broken_.logical_or_(differs(0, region.begin).logical_or(differs(end_even, total)));
  if (end_even != region.end) {
    broken_.logical_or_(raw.narrow(0, region.end, 1).ne(pattern_ >> 8).any());
  }
}

void Guards::sweep() {
  std::vector<Region> held, free;
  for (Region& region : regions_) {
    (region.buffer.use_count() > 0 ? held : free).push_back(std::move(region));
  }
  regions_ = std::move(held);
  check(free);
}

bool Guards::intact() {
  check(regions_);
  return !broken_.defined() || !broken_.item<bool>();
}

}  // namespace kw::exec
