#include "executor/device/launch_params.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstring>
#include <string>

#include "executor/aten/backend.h"
#include "formats/base/error.h"

namespace kw::exec {
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
  // A u64 of 2^63 or more arrives as the negative number of the same bits.
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

std::vector<TensorMapParams> tensor_maps(const Kernel& kernel, const Launch& launch) {
  const std::vector<size_t> params = runtime_params(kernel);
  std::vector<TensorMapParams> out;
  for (size_t a = 0; a < params.size(); ++a) {
    const KernelParam& param = kernel.params[params[a]];
    if (!param.is_descriptor()) continue;
    const auto misfit = [&](const char* what) {
      return InputError("kernel " + kernel.name + ", descriptor " + param.name + ": " + what);
    };
    if (!launch.args.at(a).is_value()) throw misfit("it describes no tensor");
    if (!kernel.compiled || out.size() >= kernel.compiled->descriptors.size()) {
      throw misfit("it was compiled without");
    }
    const DescriptorForm& form = kernel.compiled->descriptors[out.size()];
    const size_t rank = form.block.size();
    if (rank < 1 || rank > 5 || a + 2 * rank >= launch.args.size()) {
      throw misfit("expected shape and strides behind it");
    }
    TensorMapParams map{.arg = a,
                        .element_type = form.element_type,
                        .swizzle = form.swizzle,
                        .rank = static_cast<int>(rank)};
    for (size_t d = 0; d < rank; ++d) {
      const size_t inner = rank - 1 - d;
      map.sizes[inner] = as_integer(launch.args[a + 1 + d], 1, INT32_MAX);
      map.box[inner] = static_cast<uint32_t>(form.block[d]);
      const int64_t stride = as_integer(launch.args[a + 1 + rank + d], 0, int64_t{1} << 40);
      if (inner > 0) map.strides[inner - 1] = stride * form.element_bytes;
      if (inner == 0 && stride != 1) throw misfit("its last dimension has gaps");
    }
    out.push_back(map);
  }
  return out;
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
  for (size_t a = 0; a < params.size(); ++a) {
    if (kernel.params[params[a]].is_descriptor()) addresses_[a] = maps_[a].bytes.data();
  }
}

void LaunchParams::set_tensor_map(size_t arg, const void* map) {
  std::memcpy(maps_.at(arg).bytes.data(), map, sizeof(TensorMap));
}

void LaunchParams::set_pointer(size_t arg, const void* pointer) { slots_[arg] = bytes_of(pointer); }

void LaunchParams::set_scratch(const void* global, const void* profile) {
  slots_[slots_.size() - 2] = bytes_of(global);
  slots_[slots_.size() - 1] = bytes_of(profile);
}

}  // namespace kw::exec
