// The parameter block of a kernel launch. Each number is stored in the width and format that the
// kernel's signature names, and pointers are set later. Plain C++, for any device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace kw::exec {

// The arguments of cuTensorMapEncodeTiled for one host tensor descriptor, innermost dimension
// first.
struct TensorMapParams {
  size_t arg = 0;  // the launch argument that holds the tensor's address
  int element_type = 0, swizzle = 0, rank = 0;
  std::array<uint64_t, 5> sizes{};    // elements
  std::array<uint64_t, 5> strides{};  // bytes; rank - 1 of them: the innermost is one element
  std::array<uint32_t, 5> box{};      // elements
};

// Returns the tensor maps of a launch. Throws InputError if descriptor, shape and compiled form do
// not fit together.
std::vector<TensorMapParams> tensor_maps(const Kernel& kernel, const Launch& launch);

class LaunchParams {
 public:
  // Throws InputError if an argument does not fit its type. Keeps room for the two scratch pointers
  // that follow the arguments.
  LaunchParams(const Kernel& kernel, const Launch& launch);
  LaunchParams(const LaunchParams&) = delete;

  void set_pointer(size_t arg, const void* pointer);
  // Sets the 128 bytes of a CUtensorMap for a descriptor argument.
  void set_tensor_map(size_t arg, const void* map);
  void set_scratch(const void* global, const void* profile);
  // Returns one address for each parameter, as cuLaunchKernel takes them. Valid while this lives.
  void** addresses() { return addresses_.data(); }
  size_t count() const { return slots_.size(); }

 private:
  using Slot = std::array<std::byte, 8>;
  struct alignas(64) TensorMap {
    std::array<std::byte, 128> bytes;
  };
  std::vector<Slot> slots_;
  std::map<size_t, TensorMap> maps_;  // by argument; addresses stay
  std::vector<void*> addresses_;
};

// Returns the bytes of `value` as a parameter of Triton type `type` ("i1", "i32", "u64", "fp16",
// ...). There are at most eight, and they are zero beyond its width.
std::array<std::byte, 8> encode_scalar(std::string_view type, const Arg& value);

}  // namespace kw::exec
