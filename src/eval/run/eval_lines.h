// What an eval has judged, on disk: a run that was ended goes on from it (`eval --lines`), and runs
// of parts of the models become one (`--merge`). The first line is what the run was asked, the
// others are those of `eval --json`, one for each model and policy.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/base/file_lock.h"
#include "formats/json.h"

namespace kw {

// Makes the folder of --out, which is there, one of this run, whose lines go elsewhere. InputError
// where it holds another run's files; EnvironmentError where it cannot be written.
void claim_folder(const std::filesystem::path& folder, const Json& asked);

class EvalLines {
 public:
  // Makes the file, or reads it; what an ended run left of a last line is cut off. `flag`: what
  // named it, for messages. `labels`: of the policies, whose lines say it ("" where there is one
  // alone). InputError where the file is of another run, or none; EnvironmentError where it cannot
  // be written.
  EvalLines(const char* flag, const std::filesystem::path& file, const Json& asked,
            std::vector<std::string> labels);

  const std::filesystem::path& file() const { return file_; }
  ~EvalLines();  // leaves no file without a line
  EvalLines(const EvalLines&) = delete;
  EvalLines& operator=(const EvalLines&) = delete;

  // The lines of a model, in the order of the labels; nothing where one of them is missing, or is
  // of what was not judged and no merged one.
  std::optional<std::vector<Json>> of(const std::string& model) const;
  void add(const Json& line);
  // Adds the models of another file (or of a folder of --out) that this one lacks or has not
  // judged. They count as they stand, as they would in one run of all. InputError where it was
  // asked anything else, or is no file of lines.
  void merge(const std::filesystem::path& given);

 private:
  void put(const std::string& line);

  const std::filesystem::path file_;
  const Json asked_;
  const std::string first_;  // the line that says so
  const std::vector<std::string> labels_;
  std::map<std::pair<std::string, std::string>, Json> known_;  // by model and label
  std::set<std::pair<std::string, std::string>> merged_;
  bool begun_ = false;  // the first line is there
  std::ofstream out_;
  std::optional<FileLock> lock_;
};

}  // namespace kw
