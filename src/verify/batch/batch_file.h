// Files of a batch (docs/formats/batch.md): candidates in, results out, a line of JSON each.
#pragma once

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "verify/batch/batch.h"

namespace kw {

// Items of a batch file; paths in it are relative to its folder. InputError with file and line.
std::vector<BatchItem> read_batch(const std::filesystem::path& path, const DeviceProfile& profile,
                                  const std::string& settings);

// Results, appended as they come. Opening an existing file finds what is done already; a last line
// that was cut off (a run was killed, a disk was full) is removed.
class BatchResults {
 public:
  // InputError when the file holds results of other items than `items`. EnvironmentError when it
  // cannot be written.
  BatchResults(const std::filesystem::path& path, const std::vector<BatchItem>& items);

  // The outcomes of what was there, by id.
  const std::map<std::string, BatchOutcome>& done() const { return done_; }
  // On disk when it returns. EnvironmentError when it cannot be written.
  void append(const BatchResult& result);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::map<std::string, BatchOutcome> done_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace kw
