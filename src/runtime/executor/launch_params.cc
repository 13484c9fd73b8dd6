#include "runtime/executor/launch_params.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstring>
#include <string>

#include "formats/error.h"
#include "runtime/executor/backend.h"

namespace kw {
namespace {

template <class T>
std::array<std::byte, 8> bytes_of(T value) {
  std::array<std::byte, 8> out{};
  static_assert(sizeof(T) <= 8);
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

double as_double(const Arg& value) {
  if (const auto* d = std::get_if<double>(&value.v)) return *d;
  if (const auto* i = std::get_if<int64_t>(&value.v)) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&value.v)) return *b;
  throw InputError("expected a number");
}

int64_t as_integer(const Arg& value, int64_t low, int64_t high) {
  int64_t x = 0;
  if (const auto* i = std::get_if<int64_t>(&value.v))
    x = *i;
  else if (const auto* b = std::get_if<bool>(&value.v))
    x = *b;
  else
    throw InputError("expected an integer");
  if (x < low || x > high) throw InputError(std::to_string(x) + " does not fit");
  return x;
}

template <class T>
std::array<std::byte, 8> integer(const Arg& value) {
  constexpr int64_t kHigh =
      sizeof(T) < 8 ? static_cast<int64_t>(std::numeric_limits<T>::max()) : INT64_MAX;
  // u64 beyond 2^63 arrives as the negative number of the same bits.
  constexpr int64_t kLow =
      sizeof(T) == 8 ? INT64_MIN : static_cast<int64_t>(std::numeric_limits<T>::min());
  return bytes_of(static_cast<T>(as_integer(value, kLow, kHigh)));
}

}  // namespace

std::array<std::byte, 8> encode_scalar(std::string_view type, const Arg& value) {
  if (type == "i1" || type == "u1") return bytes_of(static_cast<int8_t>(as_double(value) != 0));
  if (type == "i8") return integer<int8_t>(value);
  if (type == "i16") return integer<int16_t>(value);
  if (type == "i32") return integer<int32_t>(value);
  if (type == "i64") return integer<int64_t>(value);
  if (type == "u8") return integer<uint8_t>(value);
  if (type == "u16") return integer<uint16_t>(value);
  if (type == "u32") return integer<uint32_t>(value);
  if (type == "u64") return integer<uint64_t>(value);
  const double x = as_double(value);
  if (type == "fp16") return bytes_of(c10::Half(static_cast<float>(x)).x);
  if (type == "bf16") return bytes_of(c10::BFloat16(static_cast<float>(x)).x);
  if (type == "fp32" || type == "f32") return bytes_of(static_cast<float>(x));
  if (type == "fp64") return bytes_of(x);
  throw InputError("parameters of type " + std::string(type) + " are not supported");
}

LaunchParams::LaunchParams(const Kernel& kernel, const Launch& launch) {
  const std::vector<size_t> params = runtime_params(kernel);
  if (params.size() != launch.args.size()) {
    throw InputError("kernel " + kernel.name + ": wrong number of launch arguments");
  }
  for (size_t a = 0; a < params.size(); ++a) {
    const KernelParam& param = kernel.params[params[a]];
    const Arg& arg = launch.args[a];
    if (param.is_pointer() != (arg.is_value() || arg.is_none())) {
      throw InputError("argument for " + param.name + " does not fit its type " + param.type);
    }
    slots_.push_back(param.is_pointer() ? Slot{} : encode_scalar(param.type, arg));
  }
  slots_.resize(slots_.size() + 2);
  for (Slot& slot : slots_) addresses_.push_back(slot.data());
}

void LaunchParams::set_pointer(size_t arg, const void* pointer) { slots_[arg] = bytes_of(pointer); }

void LaunchParams::set_scratch(const void* global, const void* profile) {
  slots_[slots_.size() - 2] = bytes_of(global);
  slots_[slots_.size() - 1] = bytes_of(profile);
}

}  // namespace kw
