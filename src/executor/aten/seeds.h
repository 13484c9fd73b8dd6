// Independent seeds out of one.
#pragma once

#include <cstdint>

#include "executor/aten/aten.h"

namespace kw {

enum class Purpose { kInit, kInputs, kForward, kVariation, kStale, kConstants };
uint64_t derive_seed(uint64_t seed, Purpose purpose);
// Seeds the generators of the CPU and the device.
void seed_generators(uint64_t seed);
// One that leaves those alone.
at::Generator generator_of_its_own(at::Device device, uint64_t seed);

}  // namespace kw
