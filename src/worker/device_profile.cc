#include "worker/device_profile.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>

#include "formats/base/error.h"

// Sources.
//
// Counts and sizes are what the driver reports for the H200. The others are from the "Technical
// Specifications per Compute Capability" of NVIDIA's CUDA programming guide: 227 KiB of shared
// memory a block on 9.0, 163 KiB on 8.0, 65536 registers an SM.
//
// "Measured" rates are this project's on one H200: a large copy, and a bf16 matmul. Other rates are
// from NVIDIA's data sheets (H200, H100 SXM5, A100 SXM4 80 GB). They are dense, which is half of
// the figures given with sparsity. If the H200's measured rate is below its data sheet, the other
// devices get the same fraction of theirs. Launch gaps are estimates.

namespace kw {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr double kTera = 1e12;

constexpr double kCopyFraction = 4.3 / 4.8;    // measured over data sheet, H200
constexpr double kHalfFraction = 790.0 / 989;  // measured over data sheet, H200

struct Named {
  std::string_view key;
  DeviceProfile profile;
};

const std::array<Named, 3>& profiles() {
  static const std::array<Named, 3> all = {{
      {"h200",
       {.name = "NVIDIA H200",
        .arch = "sm_90",
        .sms = 132,
        .shared_per_block = 227 * kKiB,
        .registers_per_sm = 65536,
        .l2_bytes = 60 * kMiB,  // about 50 MiB of it hold one SM's working set
        .memory_bytes = 141'000'000'000,
        .bytes_per_second = 4.3 * kTera,  // measured
        .fp32_flops = 67 * kTera,
        .tf32_flops = 494.5 * kTera,  // cuBLAS reaches about 416
        .half_flops = 790 * kTera,    // measured
        .fp64_flops = 67 * kTera,     // tensor cores
        .launch_seconds = 2e-6}},
      {"h100",
       {.name = "NVIDIA H100 80GB HBM3",
        .arch = "sm_90",
        .sms = 132,
        .shared_per_block = 227 * kKiB,
        .registers_per_sm = 65536,
        .l2_bytes = 50 * kMiB,
        .memory_bytes = 80'000'000'000,
        .bytes_per_second = 3.35 * kTera * kCopyFraction,
        .fp32_flops = 67 * kTera,
        .tf32_flops = 494.5 * kTera,
        .half_flops = 989 * kTera * kHalfFraction,
        .fp64_flops = 67 * kTera,
        .launch_seconds = 2e-6}},
      {"a100",
       {.name = "NVIDIA A100-SXM4-80GB",
        .arch = "sm_80",
        .sms = 108,
        .shared_per_block = 163 * kKiB,
        .registers_per_sm = 65536,
        .l2_bytes = 40 * kMiB,
        .memory_bytes = 80'000'000'000,
        .bytes_per_second = 2.039 * kTera * kCopyFraction,
        .fp32_flops = 19.5 * kTera,
        .tf32_flops = 156 * kTera,
        .half_flops = 312 * kTera * kHalfFraction,
        .fp64_flops = 19.5 * kTera,
        .launch_seconds = 2.5e-6}},
  }};
  return all;
}

}  // namespace

DeviceProfile device_profile(const std::string& name) {
  std::string known;
  for (const Named& entry : profiles()) {
    if (entry.key == name) return entry.profile;
    known += (known.empty() ? "" : ", ") + std::string(entry.key);
  }
  throw InputError("no device profile \"" + name + "\"; known are " + known);
}

std::vector<DeviceProfile> known_profiles() {
  std::vector<DeviceProfile> out;
  for (const Named& entry : profiles()) out.push_back(entry.profile);
  return out;
}

std::optional<DeviceProfile> profile_of_gpu(std::string_view gpu) {
  std::string name(gpu);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Named& entry : profiles()) {
    // A word of the name, or the beginning of one in which a socket follows ("H100-SXM5").
    const size_t at = name.find(entry.key), end = at + entry.key.size();
    if (at == std::string::npos || (at > 0 && name[at - 1] != ' ')) continue;
    if (end == name.size() || !std::isalnum(static_cast<unsigned char>(name[end]))) {
      return entry.profile;
    }
  }
  return std::nullopt;
}

std::string name_of_gpu(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::set<std::filesystem::path> gpus;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    gpus.insert(entry.path());
  }
  for (const auto& gpu : gpus) {
    std::ifstream file(gpu / "information");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("Model:")) continue;
      const size_t begin = line.find_first_not_of(" \t", 6);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return "";
}

bool DeviceProfile::has_tma() const {
  return arch.starts_with("sm_") && std::atoi(arch.c_str() + 3) >= 90;
}

Json to_json(const DeviceProfile& profile) {
  return {{"name", profile.name},
          {"arch", profile.arch},
          {"sms", profile.sms},
          {"shared_per_block", profile.shared_per_block},
          {"registers_per_sm", profile.registers_per_sm},
          {"l2_bytes", profile.l2_bytes},
          {"memory_bytes", profile.memory_bytes},
          {"bytes_per_second", profile.bytes_per_second},
          {"fp32_flops", profile.fp32_flops},
          {"tf32_flops", profile.tf32_flops},
          {"half_flops", profile.half_flops},
          {"fp64_flops", profile.fp64_flops},
          {"launch_seconds", profile.launch_seconds}};
}

}  // namespace kw
