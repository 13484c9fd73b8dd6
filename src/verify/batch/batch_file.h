// Files of a batch (docs/formats/batch.md): candidates in, results out, a line of JSON each.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/appended_lines.h"
#include "verify/batch/batch.h"

namespace kw {

// Items of a batch file; paths in it are relative to its folder. InputError with file and line.
std::vector<BatchItem> read_batch(const std::filesystem::path& path, const DeviceProfile& profile,
                                  const std::string& settings);

// The results, appended as they come. If the file exists, it says what is done already. A last line
// that was cut off (a run was killed, a disk was full) is removed.
class BatchResults {
 public:
  // Throws InputError if the file has results of other items than `items`, or another run writes
  // it. Throws EnvironmentError if it cannot be written.
  BatchResults(const std::filesystem::path& path, const std::vector<BatchItem>& items);

  // The outcomes of what was there, by id.
  const std::map<std::string, BatchOutcome>& done() const { return done_; }
  // Of all results, those that were there included.
  const RecordedAgain& recorded_again() const { return recorded_again_; }
  const Sanitized& sanitized() const { return sanitized_; }
  // Appends a result. Throws EnvironmentError if it cannot be written.
  void append(const BatchResult& result);

 private:
  AppendedLines file_;
  std::map<std::string, BatchOutcome> done_;
  RecordedAgain recorded_again_;
  Sanitized sanitized_;
};

}  // namespace kw
