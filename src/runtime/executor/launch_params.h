// The parameter block of a kernel launch: each number stored in the width and format that the
// kernel's signature names, pointers left open. Plain C++, for any device.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace kw {

class LaunchParams {
 public:
  // InputError when an argument does not fit its type. Room is kept for the two scratch pointers
  // that follow the arguments.
  LaunchParams(const Kernel& kernel, const Launch& launch);
  LaunchParams(const LaunchParams&) = delete;

  void set_pointer(size_t arg, const void* pointer);
  void set_scratch(const void* global, const void* profile);
  // One address for each parameter, as cuLaunchKernel takes them. Valid while this lives.
  void** addresses() { return addresses_.data(); }
  size_t count() const { return slots_.size(); }

 private:
  using Slot = std::array<std::byte, 8>;
  std::vector<Slot> slots_;
  std::vector<void*> addresses_;
};

// The bytes of `value` as a parameter of Triton type `type` ("i1", "i32", "u64", "fp16", ...),
// at most eight, zero beyond its width.
std::array<std::byte, 8> encode_scalar(std::string_view type, const Arg& value);

}  // namespace kw
