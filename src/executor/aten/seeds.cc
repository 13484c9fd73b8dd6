#include "executor/aten/seeds.h"

namespace kw::exec {

uint64_t derive_seed(uint64_t seed, Purpose purpose) {
  // splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  uint64_t z = seed + 0x9e3779b97f4a7c15ull * (static_cast<uint64_t>(purpose) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void seed_generators(uint64_t seed) { at::manual_seed(seed); }

at::Generator separate_generator(at::Device device, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace kw::exec
