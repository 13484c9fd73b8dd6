// What a program may know of the GPU it is written for, and what the roofline needs. Lets a GPU
// that is not there be targeted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace kw {

struct DeviceProfile {
  std::string name;  // "NVIDIA H200"
  std::string arch;  // "sm_90"
  int sms = 0;
  int64_t shared_per_block = 0;  // bytes, opt-in maximum
  int64_t registers_per_sm = 65536;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double bytes_per_second = 0;  // achievable copy bandwidth (read + written)
  double fp32_flops = 0;        // per second, CUDA cores
  double tf32_flops = 0;        // dense tensor cores
  double half_flops = 0;        // fp16 and bf16, dense
  double fp64_flops = 0;
  double launch_seconds = 0;  // gap between dependent kernels on one stream

  bool has_tma() const;  // the tensor memory accelerator: sm_90 on
};

// "h200", "h100", "a100". InputError lists the known names.
DeviceProfile device_profile(const std::string& name);
// All of them.
std::vector<DeviceProfile> known_profiles();
// The profile of a GPU by its driver's name for it, also of one with another memory or socket
// ("NVIDIA H100 PCIe"); nothing where none is known.
std::optional<DeviceProfile> profile_of_gpu(std::string_view gpu);
// The driver's name for the first GPU of this machine; empty where there is none. `folder` is the
// driver's.
std::string name_of_gpu(const std::filesystem::path& folder = "/proc/driver/nvidia/gpus");
Json to_json(const DeviceProfile& profile);

}  // namespace kw
