// A supply of clean tasks: programs are drawn again until one passes the examination
// (docs/synthesis.md, "Hygiene").
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "synth/draw/drawn_program.h"
#include "synth/hygiene.h"

namespace kw {

// A program that was drawn and not taken.
struct RejectedProgram {
  Flaw flaw = Flaw::kNone;
  std::string reason;
  std::vector<std::string> operators;  // in order
};

struct SynthTask {
  uint64_t index = 0;
  SynthProgram program;
  std::optional<SynthProgram> twin;       // the same program in other sizes
  std::optional<Task> recorded;           // of the program at full size
  std::vector<RejectedProgram> rejected;  // programs before it, at this index
};

struct HygieneOptions {
  double twin_low = 0x1p16, twin_high = 0x1p20;  // FLOPs: the window of twins
  bool full_size = false;  // examine programs in full size too, not twins alone
};

// Number of rejected programs at one index after which there is taken to be no task.
constexpr size_t kMostRejected = 1000;

// Returns the task of an index after `rejected` rejected ones, neither examined nor recorded.
SynthTask redraw(const Synthesiser& synthesiser, const HygieneOptions& hygiene, uint64_t index,
                 size_t rejected, SynthCounts& counts);

// Hands the tasks of indices [begin, end) to `done` in order. The programs drawn at an index depend
// on the options and the index alone; which of them is taken depends on the examiner's arithmetic.
// Throws InputError if hundreds in a row are rejected at one index.
void draw_clean(const Synthesiser& synthesiser, const HygieneOptions& hygiene, uint64_t begin,
                uint64_t end, Examiner& examiner, SynthCounts& counts,
                const std::function<void(SynthTask)>& done);

}  // namespace kw
