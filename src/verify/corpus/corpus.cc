#include "verify/corpus/corpus.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "formats/base/error.h"
#include "formats/base/read_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPart = "# %% ";
constexpr std::string_view kProgramWrong = "program wrong", kFileLies = "file lies",
                           kHonest = "honest";

[[noreturn]] void fail(const fs::path& path, int line, const std::string& what) {
  throw InputError(path.string() + ":" + std::to_string(line) + ": " + what);
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos;) {
    out.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  out.push_back(text.substr(begin));
  return out;
}

std::optional<Stage> stage_of_name(const std::string& name) {
  for (Stage stage : {Stage::kLoad, Stage::kRecord, Stage::kCompile, Stage::kCoverage,
                      Stage::kCorrect, Stage::kTime}) {
    if (stage_name(stage) == name) return stage;
  }
  return std::nullopt;
}

// "program wrong | family: decoy | ...": the label under "", the others by name.
std::map<std::string, std::string> header_fields(const fs::path& path, const std::string& line) {
  if (!line.starts_with("# ")) fail(path, 1, "the first line must be a comment with the label");
  std::map<std::string, std::string> fields;
  for (const std::string& item : split(line.substr(2), " | ")) {
    const size_t colon = item.find(": ");
    const bool label = fields.empty();
    const std::string name = label ? "" : item.substr(0, colon);
    if (!label && colon == std::string::npos) fail(path, 1, "expected `name: value`: " + item);
    if (!fields.emplace(name, label ? item : item.substr(colon + 2)).second) {
      fail(path, 1, "two values for " + name);
    }
  }
  return fields;
}

void take_header(std::map<std::string, std::string> fields, CorpusCase& out) {
  const auto take = [&](const std::string& name) {
    const auto found = fields.find(name);
    if (found == fields.end()) return std::string();
    std::string value = found->second;
    fields.erase(found);
    return value;
  };
  const auto choose = [&](const std::string& name, const std::string& usual,
                          const std::string& other) {
    const std::string value = take(name);
    if (!value.empty() && value != usual && value != other) {
      fail(out.path, 1, name + ": " + value + ", expected " + usual + " or " + other);
    }
    return value == other;
  };
  const std::string label = take("");
  out.program_wrong = label == kProgramWrong;
  out.file_lies = label == kFileLies;
  if (!out.program_wrong && !out.file_lies && label != kHonest) {
    fail(out.path, 1, "the label is `program wrong`, `file lies` or `honest`");
  }
  out.family = take("family");
  out.mechanism = take("mechanism");
  if (out.family.empty() || out.mechanism.empty()) {
    fail(out.path, 1, "expected a family and a mechanism");
  }
  if (out.program_wrong) {
    const std::string stage = take("stage");
    const auto found = stage_of_name(stage);
    if (!found) fail(out.path, 1, "there is no stage '" + stage + "'");
    out.stage = *found;
    for (const std::string& name : split(take("check"), "+")) {
      out.checks.push_back(find_check(name));
      if (!out.checks.back()) fail(out.path, 1, "there is no check '" + name + "'");
    }
    out.known_fault = choose("expect", "rejected", "accepted");
  } else {
    out.known_fault = choose("expect", "accepted", "rejected");
  }
  out.pure = choose("mode", "hybrid", "pure");
  const std::string judge = take("judge");
  out.needs_gpu = judge == "gpu";
  out.needs_cpu = judge == "cpu";
  if (!judge.empty() && !out.needs_gpu && !out.needs_cpu) {
    fail(out.path, 1, "judge: " + judge + ", expected gpu or cpu");
  }
  if (!fields.empty()) fail(out.path, 1, "unknown field " + fields.begin()->first);
}

}  // namespace

std::string_view label_of(const CorpusCase& test) {
  return test.program_wrong ? kProgramWrong : test.file_lies ? kFileLies : kHonest;
}

bool CorpusCase::can_be_unchecked() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check* c) { return c->optional; });
}

bool CorpusCase::timed() const {
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check* check) { return check->stage == Stage::kTime; });
}

std::string names_of(const std::vector<const Check*>& checks) {
  std::string out;
  for (const Check* check : checks) {
    if (!out.empty()) out += '+';
    out += check->name;
  }
  return out;
}

CorpusCase parse_corpus_case(const fs::path& path, const std::string& text) {
  CorpusCase out;
  out.path = path;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  take_header(header_fields(path, line), out);
  std::map<std::string, std::string*> parts = {{"reference", &out.reference},
                                               {"candidate", &out.candidate}};
  if (out.program_wrong) parts["twin"] = &out.twin;
  std::string note;  // for people
  parts["note"] = &note;
  std::string* part = nullptr;
  for (int number = 2; std::getline(lines, line); ++number) {
    if (line.starts_with(kPart)) {
      const auto found = parts.find(line.substr(kPart.size()));
      if (found == parts.end()) fail(path, number, "no part of a case: " + line);
      part = found->second;
      parts.erase(found);
      part->assign(static_cast<size_t>(number), '\n');
    } else if (part) {
      *part += line + "\n";
    } else if (!line.empty()) {
      fail(path, number, "text before the first part");
    }
  }
  parts.erase("note");
  if (!parts.empty()) fail(path, 1, "there is no part `# %% " + parts.begin()->first + "`");
  return out;
}

std::vector<CorpusCase> read_corpus(const std::vector<fs::path>& places) {
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    if (!fs::exists(place)) throw InputError(place.string() + ": there is no such file or folder");
    if (!fs::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      if (entry.is_regular_file() && entry.path().extension() == ".py") {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<CorpusCase> out;
  for (const fs::path& path : files) {
    out.push_back(parse_corpus_case(path, read_file(path, kMostSource)));
  }
  return out;
}

}  // namespace kw
