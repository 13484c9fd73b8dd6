// Element types: names as PyTorch writes them, sizes, classes, Triton's spelling.
#pragma once

#include <cstdint>
#include <string_view>

namespace kw {

enum class DType {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool,
  kComplex64,  // two float32, the real part first
  kComplex128,
};

std::string_view dtype_name(DType dtype);  // "float32"
DType parse_dtype(std::string_view name);  // InputError when unknown
int64_t dtype_bytes(DType dtype);
bool is_floating(DType dtype);  // complex types excluded
bool is_complex(DType dtype);
DType real_type(DType dtype);   // of the parts of a complex type; other types as they are
bool is_integral(DType dtype);  // bool excluded
std::string_view triton_dtype(DType dtype);  // "fp32", "i1" for bool
double dtype_eps(DType dtype);  // unit in the last place of 1; 0 for integers and complex types
// Returns the least normal number of the type that kernels compute in. A device that flushes
// subnormals takes smaller numbers for zero. 0 for float16, which kernels compute in float32, and
// for integers.
double flushed_below(DType dtype);
DType promote(DType a, DType b);  // torch.promote_types for tensors of equal rank class

}  // namespace kw
