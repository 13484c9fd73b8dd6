// The file that `kernelwright synth` writes: what a killed run left of it, and rows at its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "formats/base/file_lock.h"
#include "synth/task_source.h"

namespace kw {

// What a run draws, and how.
struct Drawing {
  Synthesiser synthesiser;
  std::optional<HygieneOptions> hygiene;
};

SynthTask draw_unexamined(const Synthesiser& synthesiser, uint64_t index, SynthCounts& counts);

// Rows that `file` holds already; what a killed run left of a last line is cut off. InputError
// where it holds anything else than the first rows of this run.
uint64_t rows_before(const std::filesystem::path& file, const Drawing& drawing, uint64_t count);

// Of a file without a whole line: whether it may be what a killed run left of its first row.
bool is_cut_row(const std::filesystem::path& file);

// Appends rows to the file, and says now and then how far it is.
class RowWriter {
 public:
  RowWriter(std::string path, uint64_t before, uint64_t count);

  // EnvironmentError when it cannot be written, InputError when another run does.
  void write(const std::string& row);
  // All is on its way to the disk, and how many there are is printed.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void open();
  [[noreturn]] void fail() const;

  const std::string path_;
  const uint64_t before_;
  uint64_t done_;
  const uint64_t count_;
  std::ofstream out_;
  const uintmax_t size_;  // of the file before this run
  std::optional<FileLock> lock_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

}  // namespace kw
