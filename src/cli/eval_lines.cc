#include "cli/eval_lines.h"

#include <iterator>

#include "formats/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::string label_of(const Json& line) { return line.value("label", ""); }

}  // namespace

EvalLines::EvalLines(const fs::path& file, const Json& asked, std::vector<std::string> labels)
    : file_(file), labels_(std::move(labels)) {
  out_.open(file_, std::ios::app);
  if (!out_) throw EnvironmentError("cannot write " + file_.string());
  lock_.emplace(file_);
  std::ifstream in(file_);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole == 0) {
    // All that there may be is what an ended run left of its first line.
    const std::string first = Json({{"eval", asked}}).dump();
    if (!first.starts_with(text)) {
      throw InputError("--lines " + file_.string() + ": is no file of eval's lines");
    }
    fs::resize_file(file_, 0);
    put({{"eval", asked}});
    return;
  }
  read(text.substr(0, whole), asked);
  fs::resize_file(file_, whole);
}

void EvalLines::read(const std::string& text, const Json& asked) {
  size_t begin = 0;
  for (size_t number = 1, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1, ++number) {
    const std::string where = file_.string() + ":" + std::to_string(number);
    const Json line =
        Json::parse(text.substr(begin, end - begin), nullptr, /*allow_exceptions=*/false);
    if (number == 1) {
      if (!line.is_object() || !line.contains("eval")) {
        throw InputError("--lines " + file_.string() + ": is no file of eval's lines");
      }
      if (line["eval"] != asked) {
        throw InputError("--lines " + file_.string() + ": is of another run, which was asked " +
                         line["eval"].dump() + ", and this one " + asked.dump());
      }
      continue;
    }
    if (!line.is_object() || !line.contains("model") || !line["model"].is_string()) {
      throw InputError(where + ": is no line of a model");
    }
    known_[{line["model"], label_of(line)}] = line;
  }
}

std::optional<std::vector<Json>> EvalLines::of(const std::string& model) const {
  std::vector<Json> out;
  for (const std::string& label : labels_) {
    const auto found = known_.find({model, label});
    if (found == known_.end() || found->second.value("outcome", "") == "not judged") return {};
    out.push_back(found->second);
  }
  return out;
}

void EvalLines::add(const Json& line) {
  put(line);
  known_[{line.at("model"), label_of(line)}] = line;
}

void EvalLines::put(const Json& line) {
  if (!(out_ << line.dump() << std::endl)) throw EnvironmentError("cannot write " + file_.string());
}

}  // namespace kw
