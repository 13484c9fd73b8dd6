#include "eval/suite/suite_models.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "eval/suite/suite_rows.h"
#include "formats/base/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Returns whether a file or folder is no part of a suite, by its name: __pycache__, .git,
// __init__.py.
bool is_hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with('_');
}

void add_folder(const fs::path& folder, std::vector<SuiteFile>& out) {
  std::vector<fs::path> found;
  std::string tasks;  // a file of tasks, which the user names directly
  try {
    for (fs::recursive_directory_iterator it(folder), end; it != end; ++it) {
      if (is_hidden(it->path())) {
        if (it->is_directory()) it.disable_recursion_pending();
      } else if (it->is_regular_file() && it->path().extension() == ".py") {
        found.push_back(it->path());
      } else if (it->path().extension() == ".jsonl") {
        tasks = it->path().string();
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw InputError(folder.string() + ": cannot be read: " + error.code().message());
  }
  if (found.empty()) {
    throw InputError(folder.string() + ": has no *.py file" +
                     (tasks.empty() ? "" : "; files of tasks are named each, such as " + tasks));
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    fs::path name = path.lexically_relative(folder);
    out.push_back({path.string(), name.replace_extension().generic_string(),
                   name.parent_path().generic_string()});
  }
}

// Returns whether a text is an operator's test and no model, by how its lines begin.
bool is_operator_test(const RecordRequest& request) {
  bool has_test = false;
  std::istringstream lines(request.text);
  for (std::string line; std::getline(lines, line);) {
    const auto is_name = [&](size_t at) {
      return at < line.size() &&
             (std::isalnum(static_cast<unsigned char>(line[at])) || line[at] == '_');
    };
    if (line.starts_with("class Model") && !is_name(11)) return false;
    const size_t after = line.find_first_not_of(' ', 5);
    if (line.starts_with("Model") && after < line.size() && line[after] == '=') return false;
    has_test = has_test || line.starts_with("def test");
  }
  return has_test && request.cls == "Model";
}

// Checks a name: it becomes part of file names below the folder of a run.
void check_name(const SuiteModel& model) {
  constexpr size_t kLongest = 200;  // of a part; file names have endings in addition
  const fs::path name(model.name);
  const bool plain = !model.name.empty() && !name.is_absolute() && is_utf8(model.name) &&
                     std::all_of(name.begin(), name.end(), [](const fs::path& part) {
                       const std::string& text = part.native();
                       return !text.empty() && text != ".." && text != "." &&
                              text.size() <= kLongest && text.find('\0') == std::string::npos;
                     });
  if (plain && is_utf8(model.request.file)) return;
  throw InputError("a model is called " + (is_utf8(model.name) ? model.name : "no UTF-8 text") +
                   ": expected a name of a file, of " + std::to_string(kLongest) +
                   " characters at most, or a relative path of such");
}

void adapt_all(std::vector<SuiteModel>& models, const SuiteFormat& format, WorkerPool& pool) {
  std::vector<size_t> places;
  std::vector<RecordRequest> tests;
  for (size_t i = 0; i < models.size(); ++i) {
    if (!is_operator_test(models[i].request)) continue;
    places.push_back(i);
    tests.push_back(models[i].request);
  }
  if (tests.empty()) return;
  auto adapted = adapt_tests(pool, tests, format.deadline);
  for (size_t i = 0; i < places.size(); ++i) {
    SuiteModel& model = models[places[i]];
    if (adapted[i].value) {
      AdaptedTest& made = *adapted[i].value;
      model.request.text = std::move(made.model);
      model.function = FunctionForm{std::move(made.name), std::move(made.candidate)};
    } else {
      model.fault = std::move(adapted[i].fault);
    }
  }
}

}  // namespace

std::vector<SuiteFile> suite_files(const std::vector<std::string>& suites) {
  std::vector<SuiteFile> out;
  for (const std::string& suite : suites) {
    if (fs::is_directory(suite)) {
      add_folder(suite, out);
    } else {
      out.push_back({suite, fs::path(suite).stem().string(), ""});
    }
  }
  return out;
}

std::vector<SuiteModel> read_suite(const std::vector<SuiteFile>& files, const SuiteFormat& format,
                                   const std::vector<std::string>& settings,
                                   const DeviceProfile& profile, WorkerPool& pool) {
  std::vector<SuiteModel> out;
  for (const SuiteFile& file : files) {
    if (fs::path(file.path).extension() == ".jsonl") {
      std::ranges::move(models_of_rows(file, format, profile), std::back_inserter(out));
      continue;
    }
    SuiteModel& model = out.emplace_back();
    model.request = request_for_file(file.path, format.cls, settings, profile);
    model.name = file.name;
    model.level = file.level;
  }
  std::set<std::string> names;
  for (SuiteModel& model : out) {
    check_name(model);
    model.original = model.request.text;
    if (!names.insert(model.request.file).second) {
      throw InputError("two models of the suite are called " + model.request.file);
    }
  }
  adapt_all(out, format, pool);
  return out;
}

}  // namespace kw
