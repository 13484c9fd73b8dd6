// The numbers that synthesis draws: xoshiro256** (Blackman and Vigna, "Scrambled linear
// pseudorandom number generators", 2021), seeded by SplitMix64. Integer arithmetic and IEEE
// operations only, so a seed gives the same program on any machine. One thread each.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace kw {

class Random {
 public:
  // A sequence of its own for each (seed, index, stream).
  Random(uint64_t seed, uint64_t index, uint64_t stream = 0) {
    uint64_t x =
        seed ^ (index * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) ^ stream * 0xd1342543de82ef95u;
    for (uint64_t& word : state_) word = split_mix(x);
  }

  uint64_t bits() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // In [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // In [0, n), without bias (Lemire, "Fast random integer generation in an interval", 2019).
  uint64_t below(uint64_t n) {
    unsigned __int128 product = static_cast<unsigned __int128>(bits()) * n;
    if (static_cast<uint64_t>(product) < n) {
      const uint64_t least = -n % n;
      while (static_cast<uint64_t>(product) < least) {
        product = static_cast<unsigned __int128>(bits()) * n;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  static uint64_t split_mix(uint64_t& x) {
    uint64_t z = (x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::array<uint64_t, 4> state_;
};

// Every order equally likely (Fisher and Yates, 1938).
template <class T>
void shuffle(std::vector<T>& items, Random random) {
  for (uint64_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace kw
