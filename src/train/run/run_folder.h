// The folder of a run on disk: whether this run may go on there, from what, and what it leaves.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/base/file_lock.h"
#include "train/run/checkpoint.h"
#include "train/run/settings.h"

namespace kw {

class RunFolder {
 public:
  // Makes the folder. `start`: fingerprint of the model that the run reads whenever it goes on;
  // empty where checkpoints have all of it. InputError where that cannot be, another process has
  // the run, or it has begun with other settings or from another model. It may be asked for other
  // steps than it began with: rates then follow the new schedule.
  RunFolder(std::filesystem::path folder, const Settings& settings, std::string start);

  const std::filesystem::path& path() const { return folder_; }
  const std::optional<FoundCheckpoint>& from() const { return from_; }
  // What people are told where it goes on.
  std::string goes_on_line() const;
  // A checkpoint. `state`: what the kind of run goes on from, besides.
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

}  // namespace kw
