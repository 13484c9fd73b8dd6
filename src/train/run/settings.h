// A configuration described once: its TOML keys, what they mean, what they may be, where the values
// of a recipe come from, and the record of a run are all of this description. Borrows the variables
// that it describes.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "formats/toml.h"

namespace kw {

class Settings {
 public:
  // A key, "sft.rate", and the variable that it sets, whose value now is the default.
  void add(const std::string& key, bool& slot, const std::string& help);
  void add(const std::string& key, std::string& slot, const std::string& help,
           const std::vector<std::string>& allowed = {});
  void add(const std::string& key, int64_t& slot, const std::string& help, int64_t least = 0,
           int64_t most = std::numeric_limits<int64_t>::max());
  void add(const std::string& key, double& slot, const std::string& help, double least,
           double most);
  void add(const std::string& key, std::vector<int64_t>& slot, const std::string& help,
           int64_t least, int64_t most);
  // Any number of them, none too.
  void add(const std::string& key, std::vector<std::string>& slot, const std::string& help,
           const std::vector<std::string>& allowed);

  // Sets what the file has. InputError with its line: a key that there is not (with the nearest one
  // that there is), a value of another type or out of bounds. The table [source], where there is
  // one, says of every key that the file sets whether its value is "published", a
  // "reimplementation"'s, or "ours"; without it, all are ours.
  void read(const TomlFile& file, const std::string& name);
  // "sft.rate=3e-4", with a TOML value behind the sign; what is no TOML is text.
  void set(const std::string& assignment);

  Json record() const;  // key: value, all of them
  Json sources() const { return sources_; }
  std::string help() const;  // a line a key

 private:
  struct Setting {
    std::string key, help, wants;
    std::function<bool(const Json&)> take;  // false: not such a value
    std::function<Json()> get;
  };
  void put(const std::string& key, const Json& value, const std::string& where);
  void read_table(const Json& table, const std::string& path, const TomlFile& file,
                  const std::string& name);
  const Setting* find(std::string_view key) const;
  std::string nearest(const std::string& key) const;

  std::vector<Setting> settings_;
  Json sources_ = Json::object();
};

}  // namespace kw
