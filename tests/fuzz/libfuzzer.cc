// libFuzzer's mutations do not know JSON; every other one is one of ours.
#include <algorithm>

#include "fuzz.h"
#include "mutate.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit,
                                          unsigned int seed) {
  if (seed % 2 == 0 || size == 0) return LLVMFuzzerMutate(data, size, limit);
  std::mt19937_64 random(seed);
  const std::string text = kw::mutated({std::string(kw::text_of(data, size))}, random);
  const size_t length = std::min(text.size(), limit);
  std::copy_n(text.begin(), length, data);
  return length;
}
