#include "train/run/settings.h"

#include <algorithm>
#include <cmath>

#include "formats/base/error.h"
#include "formats/base/nearest.h"

namespace kw::train {
namespace {

constexpr const char* kSources[] = {"published", "reimplementation", "ours"};

std::string number_text(double x) { return Json(x).dump(); }

bool is_whole(const Json& value, int64_t least, int64_t most) {
  return value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= most;
}

std::string range_text(int64_t least, int64_t most) {
  std::string out = "a whole number from " + std::to_string(least);
  if (most != std::numeric_limits<int64_t>::max()) out += " to " + std::to_string(most);
  return out;
}

}  // namespace

void Settings::add(const std::string& key, bool& slot, const std::string& help) {
  settings_.push_back({key, help, "true or false",
                       [&slot](const Json& value) {
                         if (!value.is_boolean()) return false;
                         slot = value.get<bool>();
                         return true;
                       },
                       [&slot] { return Json(slot); }});
}

void Settings::add(const std::string& key, std::string& slot, const std::string& help,
                   const std::vector<std::string>& allowed) {
  std::string wants = "text";
  if (!allowed.empty()) {
    wants = "one of";
    for (const std::string& each : allowed) wants += " " + each;
  }
  settings_.push_back({key, help, wants,
                       [&slot, allowed](const Json& value) {
                         if (!value.is_string()) return false;
                         const std::string text = value.get<std::string>();
                         if (!allowed.empty() &&
                             std::ranges::find(allowed, text) == allowed.end()) {
                           return false;
                         }
                         slot = text;
                         return true;
                       },
                       [&slot] { return Json(slot); }});
}

void Settings::add(const std::string& key, int64_t& slot, const std::string& help, int64_t least,
                   int64_t most) {
  settings_.push_back({key, help, range_text(least, most),
                       [&slot, least, most](const Json& value) {
                         if (!is_whole(value, least, most)) return false;
                         slot = value.get<int64_t>();
                         return true;
                       },
                       [&slot] { return Json(slot); }});
}

void Settings::add(const std::string& key, double& slot, const std::string& help, double least,
                   double most) {
  settings_.push_back({key, help,
                       "a number from " + number_text(least) + " to " + number_text(most),
                       [&slot, least, most](const Json& value) {
                         if (!value.is_number()) return false;
                         const double x = value.get<double>();
                         if (!(x >= least && x <= most)) return false;
                         slot = x;
                         return true;
                       },
                       [&slot] { return Json(slot); }});
}

void Settings::add(const std::string& key, std::vector<int64_t>& slot, const std::string& help,
                   int64_t least, int64_t most) {
  settings_.push_back({key, help, "a list or one, each " + range_text(least, most),
                       [&slot, least, most](const Json& value) {
                         const Json list = value.is_array() ? value : Json::array({value});
                         if (list.empty()) return false;
                         for (const Json& item : list) {
                           if (!is_whole(item, least, most)) return false;
                         }
                         slot = list.get<std::vector<int64_t>>();
                         return true;
                       },
                       [&slot] { return Json(slot); }});
}

void Settings::add(const std::string& key, std::vector<std::string>& slot, const std::string& help,
                   const std::vector<std::string>& allowed) {
  std::string wants = "a list of";
  for (const std::string& each : allowed) wants += " " + each;
  settings_.push_back({key, help, wants,
                       [&slot, allowed](const Json& value) {
                         if (!value.is_array()) return false;
                         for (const Json& item : value) {
                           if (!item.is_string()) return false;
                           const auto& word = item.get_ref<const std::string&>();
                           if (std::ranges::find(allowed, word) == allowed.end()) return false;
                         }
                         slot = value.get<std::vector<std::string>>();
                         return true;
                       },
                       [&slot] { return Json(slot); }});
}

const Settings::Setting* Settings::find(std::string_view key) const {
  const auto found = std::ranges::find(settings_, key, &Setting::key);
  return found == settings_.end() ? nullptr : &*found;
}

std::string Settings::nearest(const std::string& key) const {
  std::vector<std::string> keys;
  for (const Setting& setting : settings_) keys.push_back(setting.key);
  return kw::nearest(key, keys);
}

void Settings::put(const std::string& key, const Json& value, const std::string& where) {
  const Setting* setting = find(key);
  if (!setting) throw InputError(where + "there is no " + key + ": is " + nearest(key) + " meant?");
  if (!setting->take(value)) {
    throw InputError(where + key + " is " + value.dump() + ", expected " + setting->wants);
  }
}

void Settings::read_table(const Json& table, const std::string& path, const TomlFile& file,
                          const std::string& name) {
  for (const auto& [key, value] : table.items()) {
    const std::string own = path.empty() ? key : path + "." + key;
    if (own == "source") continue;
    if (value.is_object()) {
      read_table(value, own, file, name);
      continue;
    }
    const std::string where = name + ":" + std::to_string(file.lines.at(own)) + ": ";
    put(own, value, where);
    sources_[own] = "ours";
  }
}

void Settings::read(const TomlFile& file, const std::string& name) {
  read_table(file.values, "", file, name);
  if (!file.values.contains("source")) return;
  const Json& said = file.values.at("source");
  if (!said.is_object()) throw InputError(name + ": source is " + said.dump() + ", not a table");
  std::string missing;
  for (const auto& [key, value] : sources_.items()) {
    if (!said.contains(key)) missing += "\n\"" + key + "\" = \"ours\"";
  }
  if (!missing.empty()) {
    throw InputError(name + ": [source] says of every value whether it is published, a " +
                     "reimplementation's, or ours, and lacks (as, perhaps, ours):" + missing);
  }
  for (const auto& [key, value] : said.items()) {
    if (!sources_.contains(key)) {
      throw InputError(name + ": [source] has " + key + ", which the recipe does not set");
    }
    if (std::ranges::find(kSources, value) == std::end(kSources)) {
      throw InputError(name + ": [source] says " + value.dump() + " of " + key +
                       ", expected published, reimplementation or ours");
    }
    sources_[key] = value;
  }
}

void Settings::set(const std::string& assignment) {
  const size_t sign = assignment.find('=');
  if (sign == std::string::npos) {
    throw InputError(assignment + ": expected KEY=VALUE, such as sft.rate=3e-4");
  }
  const std::string key = assignment.substr(0, sign), text = assignment.substr(sign + 1);
  Json value = text;
  try {
    value = parse_toml("x = " + text, assignment).values.at("x");
  } catch (const InputError&) {  // it is text without quotes
  }
  put(key, value, "");
  sources_[key] = "ours";
}

Json Settings::record() const {
  Json out = Json::object();
  for (const Setting& setting : settings_) out[setting.key] = setting.get();
  return out;
}

std::string Settings::help() const {
  std::string out;
  for (const Setting& setting : settings_) {
    out += setting.key + " = " + setting.get().dump() + "\n    " + setting.help + " (" +
           setting.wants + ")\n";
  }
  return out;
}

}  // namespace kw::train
