#include "cli/eval_lines.h"

#include <iterator>

#include "formats/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

using Key = std::pair<std::string, std::string>;  // model and label

Key key_of(const Json& line) { return {line.at("model"), line.value("label", "")}; }

bool is_judged(const Json& line) { return line.value("outcome", "") != "not judged"; }

InputError no_lines(const fs::path& file) {
  return InputError("--lines " + file.string() + ": is no file of eval's lines");
}

// Up to its last whole line.
std::string whole_lines(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw EnvironmentError("cannot read " + file.string());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.substr(0, text.rfind('\n') + 1);  // npos + 1 is 0
}

// The last line of each model and label, of a file that was asked the same.
std::map<Key, Json> lines_of(const fs::path& file, const std::string& text, const Json& asked) {
  std::map<Key, Json> out;
  size_t begin = 0;
  for (size_t number = 1, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1, ++number) {
    const Json line =
        Json::parse(text.substr(begin, end - begin), nullptr, /*allow_exceptions=*/false);
    if (number == 1) {
      if (!line.is_object() || !line.contains("eval")) throw no_lines(file);
      if (line["eval"] != asked) {
        throw InputError("--lines " + file.string() + ": is of another run, which was asked " +
                         line["eval"].dump() + ", and this one " + asked.dump());
      }
      continue;
    }
    if (!line.is_object() || !line.contains("model") || !line["model"].is_string()) {
      throw InputError(file.string() + ":" + std::to_string(number) + ": is no line of a model");
    }
    out[key_of(line)] = line;
  }
  return out;
}

}  // namespace

EvalLines::EvalLines(const fs::path& file, const Json& asked, std::vector<std::string> labels)
    : file_(file), asked_(asked), labels_(std::move(labels)) {
  out_.open(file_, std::ios::app);
  if (!out_) throw EnvironmentError("cannot write " + file_.string());
  lock_.emplace(file_);
  const std::string text = whole_lines(file_);
  if (text.empty()) {
    // All that there may be is what an ended run left of its first line.
    const std::string first = Json({{"eval", asked_}}).dump();
    std::ifstream in(file_);
    if (!first.starts_with(std::string{std::istreambuf_iterator<char>(in), {}})) {
      throw no_lines(file_);
    }
    fs::resize_file(file_, 0);
    put({{"eval", asked_}});
    return;
  }
  known_ = lines_of(file_, text, asked_);
  fs::resize_file(file_, text.size());
}

void EvalLines::merge(const fs::path& other) {
  const std::string text = whole_lines(other);
  if (text.empty()) return;  // ended before it began
  for (const auto& [key, line] : lines_of(other, text, asked_)) {
    const auto known = known_.find(key);
    if (is_judged(line) && (known == known_.end() || !is_judged(known->second))) add(line);
  }
}

std::optional<std::vector<Json>> EvalLines::of(const std::string& model) const {
  std::vector<Json> out;
  for (const std::string& label : labels_) {
    const auto found = known_.find({model, label});
    if (found == known_.end() || !is_judged(found->second)) return {};
    out.push_back(found->second);
  }
  return out;
}

void EvalLines::add(const Json& line) {
  put(line);
  known_[key_of(line)] = line;
}

void EvalLines::put(const Json& line) {
  if (!(out_ << line.dump() << std::endl)) throw EnvironmentError("cannot write " + file_.string());
}

}  // namespace kw
