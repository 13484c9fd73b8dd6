#include "cli/synth/synth_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/json.h"
#include "formats/output.h"
#include "synth/task_row.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

double seconds_between(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The row of an index before it is examined, for comparison.
Json drawn_row(const Drawing& drawing, uint64_t index, size_t rejected, SynthCounts& counts) {
  SynthTask task;
  if (drawing.hygiene) {
    task = redraw(drawing.synthesiser, *drawing.hygiene, index, rejected, counts);
  } else {
    task = draw_unexamined(drawing.synthesiser, index, counts);
  }
  return synth_row(task, drawing.synthesiser.options());
}

// Whether a row is what these flags give at this index.
bool is_row(const std::string& line, const Drawing& drawing, uint64_t index) {
  Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!row.is_object() || row.contains("rejected") != drawing.hygiene.has_value()) return false;
  size_t rejected = 0;
  if (drawing.hygiene) {
    if (!row["rejected"].is_array()) return false;
    rejected = row["rejected"].size();
    if (rejected > kMostRejected) return false;
    row.erase("rejected");
    row.erase("program");
  }
  SynthCounts counts;
  return row == drawn_row(drawing, index, rejected, counts);
}

// 0 for what is no file.
uintmax_t size_of(const fs::path& file) {
  std::error_code none;
  const uintmax_t size = fs::file_size(file, none);
  return none ? 0 : size;
}

}  // namespace

bool is_cut_row(const fs::path& file) {
  std::string line;
  LineReader(file).next(line);
  if (Json::accept(line)) return false;  // nothing is cut off
  // Members are in the order of their names.
  return is_cut_line(line, {R"({"constants":)", R"({"dtype":)"});
}

uint64_t rows_before(const fs::path& file, const Drawing& drawing, uint64_t count) {
  check_out_file(file);
  if (!fs::exists(file)) return 0;
  LineReader lines(file);
  const FileLock lock(file);
  const auto other = [&] {
    return InputError(file.string() +
                      ": holds other tasks than these flags give; choose another --out");
  };
  std::string line, first, last;
  uint64_t rows = 0;
  uintmax_t bytes = 0;
  while (lines.next(line) && lines.is_whole()) {  // a last line without its end is not whole
    if (rows++ == 0) first = line;
    if (!line.starts_with('{') || !line.ends_with('}')) {
      throw InputError(lines.place() +
                       ": is no task; mend or remove the file, or choose another --out");
    }
    bytes += line.size() + 1;
    last = std::move(line);
  }
  if (rows > count) {
    throw InputError(file.string() + ": has " + std::to_string(rows) + " rows, more than --count " +
                     std::to_string(count));
  }
  if (rows > 0 && (!is_row(first, drawing, 0) || !is_row(last, drawing, rows - 1))) throw other();
  if (rows == 0 && !is_cut_row(file) && !is_row(line, drawing, 0)) throw other();
  fs::resize_file(file, bytes);
  return rows;
}

SynthTask draw_unexamined(const Synthesiser& synthesiser, uint64_t index, SynthCounts& counts) {
  SynthTask task;
  task.index = index;
  Random random = synthesiser.random(index);
  task.program = synthesiser.draw(index, 0, random, counts);
  return task;
}

RowWriter::RowWriter(std::string path, uint64_t before, uint64_t count)
    : path_(std::move(path)),
      before_(before),
      done_(before),
      count_(count),
      size_(size_of(path_)) {}

// Not before there is something to write.
void RowWriter::open() {
  out_.open(path_, std::ios::app);
  if (!out_) throw EnvironmentError("cannot write " + path_);
  lock_.emplace(path_);
  if (size_of(path_) != size_) {
    throw InputError(path_ + ": another run has written it meanwhile; start this again");
  }
}

void RowWriter::write(const std::string& row) {
  if (!out_.is_open()) open();
  out_ << row << '\n';
  if (!out_) fail();
  ++done_;
  if (seconds_between(shown_) < 2) return;
  shown_ = Clock::now();
  out_.flush();  // a run that is killed goes on from here
  std::fprintf(stderr, "%llu of %llu\n", static_cast<unsigned long long>(done_),
               static_cast<unsigned long long>(count_));
}

void RowWriter::finish() {
  if (done_ > before_ && !out_.flush()) fail();
  const double seconds = seconds_between(start_);
  std::printf("%llu programs (%llu were there), %.3g/s\n", static_cast<unsigned long long>(done_),
              static_cast<unsigned long long>(before_),
              seconds > 0 ? static_cast<double>(done_ - before_) / seconds : 0.0);
}

void RowWriter::fail() const {
  throw EnvironmentError("cannot write " + path_ + ": is the disk full?");
}

}  // namespace kw
