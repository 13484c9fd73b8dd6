// Draws random sizes whose weight is a power of the size. The tables are made once, by square
// roots, products and sums alone, which IEEE 754 rounds the same everywhere. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "synth/skeleton/random.h"

namespace kw {

class PowerTable {
 public:
  static constexpr int kLeast = -32, kMost = 64;  // eighths

  // Returns the table for sizes from `low` (1 or 2) to 8192 with weights x^(-eighths / 8).
  static const PowerTable& of(int low, int eighths);

  // Draws a size from low to high, with a probability in proportion to its weight. `share` is
  // share(low, high).
  int64_t draw(int64_t low, int64_t high, double share, Random& random) const {
    if (share < kRare) return search(low, high, random);
    for (;;) {
      const uint64_t bits = random.bits();
      const Column& column = columns_[bits % columns_.size()];
      const float at = static_cast<float>(bits >> 40) * 0x1p-24f;
      const int64_t size = at < column.keep ? column.size : column.other;
      if (size >= low && size <= high) return size;
    }
  }
  // Returns x^(eighths / 8).
  double power(int64_t x) const { return powers_[x]; }
  // Returns the sum of the weights from low to high.
  double total(int64_t low, int64_t high) const {
    return rising_ ? sums_[high] - sums_[low - 1] : sums_[low] - sums_[high + 1];
  }
  double share(int64_t low, int64_t high) const {
    return total(low, high) / (rising_ ? sums_.end()[-2] : sums_[1]);
  }

  PowerTable(int low, int eighths);

 private:
  struct Column {  // Walker's alias method
    float keep = 1;
    uint16_t size = 0, other = 0;
  };
  static constexpr double kRare = 0.25;  // for smaller shares a search is faster than drawing again
  int64_t search(int64_t low, int64_t high, Random& random) const;

  bool rising_;  // whether weights rise; sums begin with the small weights
  std::vector<Column> columns_;
  std::vector<double> powers_, sums_;
};

// Return log2 and 2^x to about 12 digits, the same on every machine.
double portable_log2(double x);
double portable_exp2(double x);

}  // namespace kw
