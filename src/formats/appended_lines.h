// A file of lines that runs append to, such as the results of a batch. A run that was killed leaves
// whole lines and at most a part of one more; the same command goes on from them.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "formats/base/file_lock.h"
#include "formats/base/read_file.h"

namespace kw {

// Where the whole lines of a file end, and what follows them: nothing, or a part of a line.
struct LinesEnd {
  uintmax_t bytes = 0;
  std::string rest;
};
// Calls `take` for each line that has its newline; the reader says where the line is.
using TakeLine = std::function<void(const std::string& line, const LineReader& reader)>;
LinesEnd read_whole_lines(const std::filesystem::path& file, const TakeLine& take);

// The file while one run has it. A caller reads it first and checks that it is of the right kind;
// until then nothing is removed from it.
class AppendedLines {
 public:
  // Opens and locks the file; makes it if there is none. Throws InputError if something else than a
  // plain file is there, or if another run has the file and still has it after `patience`. Throws
  // EnvironmentError if it cannot be written.
  explicit AppendedLines(const std::filesystem::path& file,
                         std::chrono::milliseconds patience = {});
  ~AppendedLines();  // removes the file if this made it and it is empty
  AppendedLines(const AppendedLines&) = delete;
  AppendedLines& operator=(const AppendedLines&) = delete;

  const std::filesystem::path& file() const { return file_; }
  // Removes what follows the whole lines. Throws EnvironmentError if the disk refuses.
  void cut(uintmax_t bytes);
  // Appends a line, which has no newline, in one write. Throws EnvironmentError if the disk
  // refuses.
  void append(std::string_view line);

 private:
  void open();

  const std::filesystem::path file_;
  int descriptor_ = -1;
  bool made_ = false;
  std::optional<FileLock> lock_;
};

}  // namespace kw
