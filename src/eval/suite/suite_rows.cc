#include "eval/suite/suite_rows.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <sstream>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "synth/task_row.h"

namespace kw {
namespace {

// Calls `take` for each line that is not empty.
void each_row(const std::string& text, const std::string& path,
              const std::function<void(const JsonReader& row, int number)>& take) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string place = path + ":" + std::to_string(number);
    const Json json = parse_json(line, place);
    take(JsonReader(json, place), number);
  }
}

// Returns a text that can be part of file names.
std::string plain_name(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 32) c = '_';
  }
  return name;
}

// Reads rows of KernelBench's dataset.
std::vector<SuiteModel> kernelbench_rows(const std::string& text, const std::string& path,
                                         const RecordRequest& common) {
  std::vector<SuiteModel> out;
  each_row(text, path, [&](const JsonReader& row, int number) {
    SuiteModel& model = out.emplace_back();
    model.request = common;
    model.request.text = row.at("code").string();
    if (row.has("level") && !row.at("level").is_null())
      model.level = "level" + std::to_string(row.at("level").integer(0, 999));
    std::string name = row.has("name") ? row.at("name").string() : "";
    if (row.has("problem_id")) {
      const std::string id = std::to_string(row.at("problem_id").integer(0, 999'999));
      if (name != id && !name.starts_with(id + "_")) name = name.empty() ? id : id + "_" + name;
    }
    name = plain_name(name.empty() ? std::to_string(number) : name);
    model.name = model.level.empty() ? name : model.level + "/" + name;
    model.request.file = model.name + ".py";
  });
  return out;
}

// The text that is added to a row's text. It wraps the row's class, whose constructor takes
// positional and named arguments, in one that needs neither.
std::string constructed(const std::string& cls) {
  return "\n\n# What follows was added: " + cls +
         " with its arguments, as a model that takes none.\n" +
         "_given_init_inputs = get_init_inputs\n\n\n" + "class Model(" + cls +
         "):\n"
         "    def __init__(self):\n"
         "        args, kwargs = _given_init_inputs()\n"
         "        super().__init__(*args, **kwargs)\n\n\n"
         "def get_init_inputs():\n"
         "    return []\n";
}

// Reads rows of KernelBook's dataset, where get_init_inputs() gives [args, kwargs].
std::vector<SuiteModel> kernelbook_rows(const std::string& text, const std::string& path,
                                        const RecordRequest& common) {
  std::vector<SuiteModel> out;
  each_row(text, path, [&](const JsonReader& row, int number) {
    SuiteModel& model = out.emplace_back();
    model.request = common;
    model.request.cls = "Model";
    const std::string& cls = row.at("entry_point").string();
    const auto is_word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    if (cls.empty() || !std::ranges::all_of(cls, is_word)) {
      row.at("entry_point").fail("expected the name of a class");
    }
    model.request.text = row.at("python_code").string() + constructed(cls);
    const Json id = row.has("uuid") ? row.at("uuid").raw() : Json();
    const bool has_id = id.is_number_integer() || (id.is_string() && id != "");
    model.name = plain_name(cls + "_" +
                            (!has_id          ? std::to_string(number)
                             : id.is_string() ? id.get<std::string>()
                                              : id.dump()));
    model.request.file = model.name + ".py";
  });
  return out;
}

std::vector<SuiteModel> synth_rows(const std::string& text, const std::string& path, bool twins,
                                   const RecordRequest& common) {
  std::vector<SuiteModel> out;
  for (const StoredTask& task : read_tasks(text, path)) {
    if (twins && task.twin.empty()) throw InputError(path + ": " + task.id + " has no twin");
    SuiteModel& model = out.emplace_back();
    model.request = common;
    model.request.file = task.id + ".py";
    model.request.text = twins ? task.twin : task.model;
    model.name = task.id;
    if (task.level > 0) model.level = "level" + std::to_string(task.level);
  }
  return out;
}

}  // namespace

std::vector<SuiteModel> models_of_rows(const SuiteFile& file, const SuiteFormat& format,
                                       const DeviceProfile& profile) {
  RecordRequest common;
  common.cls = format.cls;
  common.profile = profile;
  const std::string text = read_file(file.path, kMostLines);
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const Json first =
      Json::parse(text.substr(begin, text.find('\n', begin) - begin), nullptr, false);
  const auto has = [&](const char* key) { return first.is_object() && first.contains(key); };
  if (has("code")) return kernelbench_rows(text, file.path, common);
  if (has("python_code")) return kernelbook_rows(text, file.path, common);
  return synth_rows(text, file.path, format.twins, common);
}

}  // namespace kw
