#include "cli/eval_lines.h"

#include <unistd.h>

#include <iterator>

#include "formats/error.h"
#include "report/eval_run.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

using Key = std::pair<std::string, std::string>;  // model and label

Key key_of(const Json& line) { return {line.at("model"), line.value("label", "")}; }

bool is_judged(const Json& line) { return line.value("outcome", "") != "not judged"; }

std::string value_text(const Json& flags, const std::string& flag) {
  if (!flags.contains(flag)) return "not given";
  std::string out;
  for (const Json& word : flags.at(flag)) {
    out += (out.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : word.dump());
  }
  return out.empty() ? "given" : out;
}

// What the runs were asked, where it is not the same.
std::string difference_of(const Json& there, const Json& here) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const Json before = there.value("flags", Json::object()),
             now = here.value("flags", Json::object());
  Json all = before;
  all.update(now);
  for (const auto& [flag, value] : all.items()) {
    const std::string was = value_text(before, flag), is = value_text(now, flag);
    if (was != is) add(flag + " (" + was + " there, " + is + " here)");
  }
  for (const char* what : {"backend", "device", "versions"}) {
    if (there.value(what, Json()) == here.value(what, Json())) continue;
    add(std::string(what) + " (" + there.value(what, Json()).dump() + " there, " +
        here.value(what, Json()).dump() + " here)");
  }
  if (there.value("models", Json()) != here.value("models", Json())) add("the models' texts");
  if (there.value("policies", Json()) != here.value("policies", Json())) {
    add("what the policies are (a model's weights, a schedule table, answers)");
  }
  return out;
}

// A file of lines, as the flag that names it has it.
struct Named {
  const char* flag;
  const fs::path& file;
  std::string text() const { return std::string(flag) + " " + file.string(); }
};

InputError no_lines(const Named& named) {
  return InputError(named.text() + ": is no file of eval's lines");
}

// Up to its last whole line. Where there is none, all that there may be is what an ended run left
// of its first one.
std::string whole_lines(const Named& named, const std::string& first) {
  std::ifstream in(named.file);
  if (!in || !fs::is_regular_file(named.file)) {
    throw InputError(named.text() + ": cannot be read");
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t last = text.rfind('\n');
  if (last == std::string::npos && !first.starts_with(text)) throw no_lines(named);
  return text.substr(0, last + 1);  // npos + 1 is 0
}

// What the run is asked.
std::string first_line(const Json& asked) { return Json({{"eval", asked}}).dump(); }

// The last line of each model and label, of a file that was asked the same.
std::map<Key, Json> lines_of(const Named& named, const std::string& text, const Json& asked) {
  EvalLinesText parsed = parse_eval_lines(text, named.text());
  if (!parsed.asked.is_null() && parsed.asked != asked) {
    throw InputError(named.text() + ": is of another run, which differs in " +
                     difference_of(parsed.asked, asked));
  }
  std::map<Key, Json> out;
  for (Json& line : parsed.lines) {
    Json& known = out[key_of(line)];
    known = std::move(line);
  }
  return out;
}

}  // namespace

// Shards of one run may come at once: all write the same first line, and no part of it is read.
void claim_folder(const fs::path& folder, const Json& asked) {
  const fs::path file = folder / kEvalLinesFile;
  const std::string first = first_line(asked);
  if (!fs::exists(file)) {
    const fs::path half = file.string() + "." + std::to_string(::getpid());
    std::ofstream out(half, std::ios::binary);
    out << first << std::endl;
    std::error_code error;
    fs::rename(half, file, error);
    if (!out || error) throw EnvironmentError("cannot write " + file.string());
    return;
  }
  const Named named{"--out", file};
  lines_of(named, whole_lines(named, first), asked);
}

EvalLines::EvalLines(const char* flag, const fs::path& file, const Json& asked,
                     std::vector<std::string> labels)
    : file_(file), asked_(asked), first_(first_line(asked)), labels_(std::move(labels)) {
  out_.open(file_, std::ios::app);
  if (!out_) throw EnvironmentError("cannot write " + file_.string());
  lock_.emplace(file_);
  const Named named{flag, file_};
  const std::string text = whole_lines(named, first_);
  known_ = lines_of(named, text, asked_);
  fs::resize_file(file_, text.size());
  begun_ = !text.empty();
}

void EvalLines::merge(const fs::path& other) {
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

void EvalLines::add(const Json& line) {
  // The first line with the first model's: a command that fails before leaves nothing.
  if (!begun_) put(first_);
  begun_ = true;
  put(line.dump());
  known_[key_of(line)] = line;
}

void EvalLines::put(const std::string& line) {
  if (!(out_ << line << std::endl)) throw EnvironmentError("cannot write " + file_.string());
}

}  // namespace kw
