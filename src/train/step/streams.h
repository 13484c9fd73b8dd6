// Streams of random numbers that learning draws from, in addition to those of synthesis
// (synth/skeleton/random.h). Each purpose has a separate stream, so that no two depend on one draw.
#pragma once

#include <cstdint>

namespace kw::train {

inline constexpr uint64_t kLevelStream = 101;   // the level of a program
inline constexpr uint64_t kNameStream = 102;    // what its names begin with
inline constexpr uint64_t kOrderStream = 103;   // examples of a chunk
inline constexpr uint64_t kWindowStream = 104;  // the window of a program's sizes
inline constexpr uint64_t kSampleStream = 105;  // answers
inline constexpr uint64_t kTrialStream = 106;   // inputs that answers are tried on
inline constexpr uint64_t kFairStream = 107;    // inputs that a program is examined on
inline constexpr uint64_t kRowStream = 108;     // the order of rows in a pass

}  // namespace kw::train
