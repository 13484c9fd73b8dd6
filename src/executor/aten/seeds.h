// Derives independent seeds from one.
#pragma once

#include <cstdint>

#include "executor/aten/aten.h"

namespace kw::exec {

enum class Purpose { kInit, kInputs, kForward, kVariation, kStale, kConstants, kSources };
uint64_t derive_seed(uint64_t seed, Purpose purpose);
// Seeds the generators of the CPU and the device.
void seed_generators(uint64_t seed);
// Returns a new generator, which does not change those of the CPU and the device.
at::Generator separate_generator(at::Device device, uint64_t seed);

}  // namespace kw::exec
