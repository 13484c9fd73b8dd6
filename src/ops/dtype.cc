#include "ops/dtype.h"

#include <array>
#include <limits>
#include <string>

#include "formats/base/error.h"

namespace kw {
namespace {

enum class Kind { kFloat, kInt, kBool, kComplex };

struct Row {
  std::string_view name, triton;
  int bytes;
  Kind kind;
  double eps;
};

constexpr std::array<Row, 12> kRows = {{
    {"float64", "fp64", 8, Kind::kFloat, 0x1p-52},
    {"float32", "fp32", 4, Kind::kFloat, 0x1p-23},
    {"float16", "fp16", 2, Kind::kFloat, 0x1p-10},
    {"bfloat16", "bf16", 2, Kind::kFloat, 0x1p-7},
    {"int64", "i64", 8, Kind::kInt, 0},
    {"int32", "i32", 4, Kind::kInt, 0},
    {"int16", "i16", 2, Kind::kInt, 0},
    {"int8", "i8", 1, Kind::kInt, 0},
    {"uint8", "u8", 1, Kind::kInt, 0},
    {"bool", "i1", 1, Kind::kBool, 0},
    {"complex64", "c64", 8, Kind::kComplex, 0},
    {"complex128", "c128", 16, Kind::kComplex, 0},
}};

const Row& row(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }
std::string_view triton_dtype(DType dtype) { return row(dtype).triton; }
int64_t dtype_bytes(DType dtype) { return row(dtype).bytes; }
bool is_floating(DType dtype) { return row(dtype).kind == Kind::kFloat; }
bool is_complex(DType dtype) { return row(dtype).kind == Kind::kComplex; }
DType real_type(DType dtype) {
  if (!is_complex(dtype)) return dtype;
  return dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
}
bool is_integral(DType dtype) { return row(dtype).kind == Kind::kInt; }
double dtype_eps(DType dtype) { return row(dtype).eps; }

double flushed_below(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::min();
    case DType::kFloat32:
    case DType::kBFloat16:
      return std::numeric_limits<float>::min();
    default:
      return 0;
  }
}

DType parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  throw InputError("dtype \"" + std::string(name) +
                   "\" is not supported (supported: float64, float32, float16, bfloat16, int64, "
                   "int32, int16, int8, uint8, bool, complex64, complex128)");
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Kind ka = row(a).kind, kb = row(b).kind;
  if (ka == Kind::kBool) return b;
  if (kb == Kind::kBool) return a;
  if (ka == Kind::kComplex || kb == Kind::kComplex) {
    const bool wide = real_type(a) == DType::kFloat64 || real_type(b) == DType::kFloat64;
    return wide ? DType::kComplex128 : DType::kComplex64;
  }
  if (ka != kb) return ka == Kind::kFloat ? a : b;
  if (ka == Kind::kFloat) {
    const bool halves = dtype_bytes(a) == 2 && dtype_bytes(b) == 2;  // float16 with bfloat16
    if (halves) return DType::kFloat32;
    return dtype_bytes(a) > dtype_bytes(b) ? a : b;
  }
  // uint8 with a signed type of the same width needs the next width up.
  if ((a == DType::kUInt8 && b == DType::kInt8) || (a == DType::kInt8 && b == DType::kUInt8)) {
    return DType::kInt16;
  }
  return dtype_bytes(a) > dtype_bytes(b) ? a : b;
}

}  // namespace kw
