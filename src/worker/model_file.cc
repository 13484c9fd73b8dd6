#include "worker/model_file.h"

#include <cctype>
#include <deque>
#include <map>
#include <regex>
#include <set>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"
#include "formats/model_constants.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Applies NAME=INTEGER to a model file's text, so that records, baselines and optimized.py, which
// are made of the text afterwards, agree on it.
void override_constant(std::string& text, const std::string& item, const std::string& file) {
  static const std::regex kItem("([A-Za-z_][A-Za-z0-9_]*)=(-?[0-9]{1,18})");
  std::smatch wanted;
  if (!std::regex_match(item, wanted, kItem)) {
    throw InputError("--set " + item + ": expected NAME=INTEGER");
  }
  if (set_model_constant(text, {wanted.str(1), std::stoll(wanted.str(2))})) return;
  std::string names;
  for (const ModelConstant& constant : model_constants(text)) {
    names += (names.empty() ? "" : ", ") + constant.name;
  }
  throw InputError("--set " + item + ": " + file + " has no module-level line `" + wanted.str(1) +
                   " = <integer>`" + (names.empty() ? "" : " (it has " + names + ")"));
}

bool is_package(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "__init__.py", ignored);
}

// All names in a text, in strings and comments too: a module may be imported by a string.
std::set<std::string> names_in(const std::string& text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
  };
  std::set<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    const bool is_name = at > begin && !std::isdigit(static_cast<unsigned char>(text[begin]));
    if (is_name) out.insert(text.substr(begin, at - begin));
    if (at == begin) ++at;
  }
  return out;
}

// The modules that were found: path -> text. A file that cannot be read has the reason as its text.
class Modules {
 public:
  // Adds a file if it is there and new. Returns its text then, else null.
  const std::string* add(const fs::path& path) {
    std::error_code ignored;
    if (found_.contains(path) || !fs::exists(path, ignored)) return nullptr;
    std::string& text = found_[path];
    try {
      text = read_file(path, kMostSource);
    } catch (const InputError& error) {
      text = error.what();
    }
    return &text;
  }

  void add_all_below(const fs::path& folder) {
    std::error_code ended;
    fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied,
                                        ended);
    for (; !ended && it != fs::recursive_directory_iterator(); it.increment(ended)) {
      if (it->path().extension() == ".py") add(it->path());
    }
  }

  std::string digest() const {
    if (found_.empty()) return "";
    std::string all;
    for (const auto& [path, text] : found_) all += sha256_hex(path.string()) + sha256_hex(text);
    return sha256_hex(all);
  }

 private:
  std::map<fs::path, std::string> found_;
};

}  // namespace

RecordRequest request_for_file(const std::filesystem::path& path, const std::string& cls,
                               const std::vector<std::string>& settings,
                               const DeviceProfile& profile) {
  RecordRequest request;
  request.text = read_file(path, kMostSource);
  if (request.text.starts_with("\xEF\xBB\xBF")) request.text.erase(0, 3);  // a byte order mark
  request.file = path.string();
  request.folder = std::filesystem::absolute(path).parent_path();
  request.cls = cls;
  for (const std::string& each : settings) override_constant(request.text, each, request.file);
  request.profile = profile;
  return request;
}

fs::path package_root(const fs::path& folder) {
  fs::path root = fs::absolute(folder).lexically_normal();
  if (!root.has_filename()) root = root.parent_path();  // "folder/"
  while (is_package(root) && is_package(root.parent_path())) root = root.parent_path();
  return root;
}

std::string modules_digest(const std::string& text, const fs::path& folder) {
  Modules modules;
  if (is_package(folder)) {
    modules.add_all_below(package_root(folder));
    return modules.digest();
  }
  std::deque<std::string> texts = {text};
  for (; !texts.empty(); texts.pop_front()) {
    for (const std::string& name : names_in(texts.front())) {
      if (const std::string* found = modules.add(folder / (name + ".py"))) texts.push_back(*found);
      std::error_code ignored;
      if (fs::is_directory(folder / name, ignored)) modules.add_all_below(folder / name);
    }
  }
  return modules.digest();
}

}  // namespace kw
