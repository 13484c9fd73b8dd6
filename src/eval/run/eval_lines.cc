#include "eval/run/eval_lines.h"

#include <chrono>

#include "eval/run/eval_run.h"
#include "eval/suite/suite.h"
#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/output.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

using Key = std::pair<std::string, std::string>;  // model and label

constexpr std::chrono::seconds kClaimPatience{5};  // while another shard writes its first line

Key key_of(const Json& line) { return {line.at("model"), line.value("label", "")}; }

bool is_judged(const Json& line) {
  return model_outcome_from_json(JsonReader(line, "line").at("outcome")) !=
         ModelOutcome::kNotJudged;
}

// A file of lines, and the flag that named it.
struct Named {
  const char* flag;
  const fs::path& file;
  std::string text() const { return std::string(flag) + " " + file.string(); }
};

InputError no_lines(const Named& named) {
  return InputError(named.text() + ": is no file of eval's lines");
}

// Returns the text up to its last complete line. If there is none, the text may only be the
// beginning of a first line, left by a run that was stopped.
std::string whole_lines(const Named& named, const std::string& first) {
  check_in_file(named.file, kMostLines);
  std::string text;
  const auto keep = [&](const std::string& line, const LineReader&) { (text += line) += '\n'; };
  const std::string rest = read_whole_lines(named.file, keep).rest;
  const bool is_cut = text.empty() ? first.starts_with(rest) : is_cut_line(rest, {"{\""});
  if (!is_cut) throw no_lines(named);
  return text;
}

// Returns the first line, which states what the run is asked.
std::string first_line(const Json& asked) { return Json({{"eval", asked}}).dump(); }

// Returns the last line of each model and label in a file that was asked the same.
std::map<Key, Json> lines_of(const Named& named, const std::string& text, const Json& asked) {
  EvalLinesText parsed = parse_eval_lines(text, named.text());
  if (!parsed.asked.is_null() && parsed.asked != asked) {
    throw InputError(named.text() + ": is of another run, which differs in " +
                     asked_difference(parsed.asked, asked));
  }
  std::map<Key, Json> out;
  for (Json& line : parsed.lines) {
    Json& known = out[key_of(line)];
    known = std::move(line);
  }
  return out;
}

}  // namespace

void claim_folder(const fs::path& folder, const Json& asked) {
  const fs::path file = folder / kEvalLinesFile;
  const std::string first = first_line(asked);
  AppendedLines lines(file, kClaimPatience);  // shards of one run may come at once
  const Named named{"--out", file};
  const std::string text = whole_lines(named, first);
  lines_of(named, text, asked);
  if (!text.empty()) return;
  lines.cut(0);
  lines.append(first);
}

EvalLines::EvalLines(const char* flag, const fs::path& file, const Json& asked,
                     std::vector<std::string> labels)
    : file_(file), asked_(asked), first_(first_line(asked)), labels_(std::move(labels)) {
  const Named named{flag, file};
  const std::string text = whole_lines(named, first_);
  known_ = lines_of(named, text, asked_);
  file_.cut(text.size());
  begun_ = !text.empty();
}

void EvalLines::merge(const fs::path& given) {
  const fs::path other = fs::is_directory(given) ? given / kEvalLinesFile : given;
  const Named named{"--merge", other};
  for (const auto& [key, line] : lines_of(named, whole_lines(named, first_), asked_)) {
    const auto known = known_.find(key);
    if (known != known_.end() && is_judged(known->second)) continue;
    add(line);
    merged_.insert(key);
  }
}

std::optional<std::vector<Json>> EvalLines::of(const std::string& model) const {
  std::vector<Json> out;
  for (const std::string& label : labels_) {
    const auto found = known_.find({model, label});
    if (found == known_.end()) return {};
    if (!is_judged(found->second) && !merged_.contains(found->first)) return {};
    out.push_back(found->second);
  }
  return out;
}

void EvalLines::begin() {
  // The first line is written with the first model's, so that a command that fails before leaves
  // nothing.
  if (!begun_) file_.append(first_);
  begun_ = true;
}

void EvalLines::add(const Json& line) {
  begin();
  file_.append(line.dump());
  known_[key_of(line)] = line;
}

}  // namespace kw
