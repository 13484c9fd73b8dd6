// The folder of a run on disk: whether this run may go on there, its last checkpoint, and the
// checkpoints that it writes. Holds the folder's lock. One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/base/file_lock.h"
#include "train/run/checkpoint.h"
#include "train/run/settings.h"

namespace kw::train {

class RunFolder {
 public:
  // Makes the folder. `start` is the fingerprint of the model that the run reads whenever it goes
  // on, or empty if checkpoints hold all of it. Throws InputError if the folder cannot be made,
  // another process has the run, or the run began with other settings or from another model. The
  // number of steps may change: rates then follow the new schedule.
  RunFolder(std::filesystem::path folder, const Settings& settings, std::string start);

  const std::filesystem::path& path() const { return folder_; }
  const std::optional<FoundCheckpoint>& from() const { return from_; }
  // Returns the line that tells people where the run goes on. Requires from().
  std::string goes_on_line() const;
  // Writes a checkpoint. `state` holds what this kind of run needs, besides the model, to go on.
  void keep(int64_t step, const Transformer& model, const std::string& tokenizer_json,
            const ParameterOptimizer& optimizer, Json state) const;

 private:
  void check_same() const;

  const std::filesystem::path folder_;
  const Settings& settings_;
  const std::string start_;
  std::optional<FileLock> lock_;
  std::optional<FoundCheckpoint> from_;
};

}  // namespace kw::train
