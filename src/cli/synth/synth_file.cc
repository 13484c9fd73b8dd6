#include "cli/synth/synth_file.h"

#include <cstdio>

#include "formats/base/error.h"
#include "formats/json.h"
#include "formats/output.h"
#include "synth/task_row.h"

namespace kw {
namespace {

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

}  // namespace

bool is_cut_row(const std::string& text) {
  if (Json::accept(text)) return false;  // nothing is cut off
  // Members are in the order of their names.
  return is_cut_line(text, {R"({"constants":)", R"({"dtype":)"});
}

uint64_t rows_before(AppendedLines& file, const Drawing& drawing, uint64_t count) {
  const std::string path = file.file().string();
  const auto other = [&] {
    return InputError(path + ": holds other tasks than these flags give; choose another --out");
  };
  std::string first, last;
  uint64_t rows = 0;
  const LinesEnd end =
      read_whole_lines(file.file(), [&](const std::string& line, const LineReader& lines) {
        if (!line.starts_with('{') || !line.ends_with('}')) {
          throw InputError(lines.place() +
                           ": is no task; mend or remove the file, or choose another --out");
        }
        if (rows++ == 0) first = line;
        last = line;
      });
  if (rows > count) {
    throw InputError(path + ": has " + std::to_string(rows) + " rows, more than --count " +
                     std::to_string(count) + "; choose another --out");
  }
  if (rows > 0 && (!is_row(first, drawing, 0) || !is_row(last, drawing, rows - 1))) throw other();
  if (rows == 0 && !is_cut_row(end.rest) && !is_row(end.rest, drawing, 0)) throw other();
  file.cut(end.bytes);
  return rows;
}

SynthTask draw_unexamined(const Synthesiser& synthesiser, uint64_t index, SynthCounts& counts) {
  SynthTask task;
  task.index = index;
  Random random = synthesiser.random(index);
  task.program = synthesiser.draw(index, 0, random, counts);
  return task;
}

RowWriter::RowWriter(AppendedLines& file, uint64_t before, uint64_t count)
    : file_(file), before_(before), done_(before), count_(count) {}

void RowWriter::write(const std::string& row) {
  file_.append(row);
  ++done_;
  if (seconds_between(shown_) < 2) return;
  shown_ = Clock::now();
  std::fprintf(stderr, "%llu of %llu\n", static_cast<unsigned long long>(done_),
               static_cast<unsigned long long>(count_));
}

void RowWriter::finish() const {
  const double seconds = seconds_between(start_);
  std::printf("%llu programs (%llu were there), %.3g/s\n", static_cast<unsigned long long>(done_),
              static_cast<unsigned long long>(before_),
              seconds > 0 ? static_cast<double>(done_ - before_) / seconds : 0.0);
}

}  // namespace kw
