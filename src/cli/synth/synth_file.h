// The file that `kernelwright synth` writes: what a killed run left of it, and rows at its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "formats/appended_lines.h"
#include "synth/task_source.h"

namespace kw {

// What a run draws, and how.
struct Drawing {
  Synthesiser synthesiser;
  std::optional<HygieneOptions> hygiene;
};

SynthTask draw_unexamined(const Synthesiser& synthesiser, uint64_t index, SynthCounts& counts);

// Returns how many rows the file has already, and removes what a killed run left of one more.
// Throws InputError if the file has anything else than the first rows of this run.
uint64_t rows_before(AppendedLines& file, const Drawing& drawing, uint64_t count);

// Returns whether the text of a file without a whole line may be what a killed run left of its
// first row.
bool is_cut_row(const std::string& text);

// Appends rows to the file, and says now and then how far it is.
class RowWriter {
 public:
  RowWriter(AppendedLines& file, uint64_t before, uint64_t count);

  // Appends a row. Throws EnvironmentError if it cannot be written.
  void write(const std::string& row);
  // Prints how many rows there are.
  void finish() const;

 private:
  using Clock = std::chrono::steady_clock;

  AppendedLines& file_;
  const uint64_t before_;
  uint64_t done_;
  const uint64_t count_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

}  // namespace kw
