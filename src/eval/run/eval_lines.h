// The judged models of an eval on disk. A run that was stopped goes on from them (`eval --lines`),
// and runs of parts of the models become one (`--merge`). The first line states what the run was
// asked; the others are the lines of `eval --json`, one for each model and policy.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/appended_lines.h"
#include "formats/json.h"

namespace kw {

// Claims the existing folder of --out for this run, whose lines go to another file. Throws
// InputError if it holds another run's files, and EnvironmentError if it cannot be written.
void claim_folder(const std::filesystem::path& folder, const Json& asked);

class EvalLines {
 public:
  // Makes the file, or reads it and removes an unfinished last line. `flag` is the flag that named
  // the file, for messages. `labels` are the policies' labels in the lines; a single policy's is
  // "". Throws InputError if the file is another run's or no file of lines, and EnvironmentError if
  // it cannot be written.
  EvalLines(const char* flag, const std::filesystem::path& file, const Json& asked,
            std::vector<std::string> labels);

  const std::filesystem::path& file() const { return file_.file(); }

  // Returns the lines of a model in the order of the labels. Returns nothing if one is missing, or
  // one was not judged and not merged.
  std::optional<std::vector<Json>> of(const std::string& model) const;
  void begin();  // writes the first line, if it is not there
  void add(const Json& line);
  // Adds the models of another file, or of a folder of --out, that this one lacks or has not
  // judged. Their lines count unchanged, as in one run of all models. Throws InputError if that run
  // was asked something else, or the file has no such lines.
  void merge(const std::filesystem::path& given);

 private:
  AppendedLines file_;
  const Json asked_;
  const std::string first_;  // the line that states asked_
  const std::vector<std::string> labels_;
  std::map<std::pair<std::string, std::string>, Json> known_;  // by model and label
  std::set<std::pair<std::string, std::string>> merged_;
  bool begun_ = false;  // whether the first line is written
};

}  // namespace kw
