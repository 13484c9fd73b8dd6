// A configuration that is described once. The description gives its TOML keys, their meaning and
// bounds, the source of each value in a recipe, and the record of a run. Borrows the variables that
// it describes.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "formats/toml.h"

namespace kw::train {

class Settings {
 public:
  // Adds a key, such as "sft.rate", and the variable that it sets; the variable's present value is
  // the default.
  void add(const std::string& key, bool& slot, const std::string& help);
  void add(const std::string& key, std::string& slot, const std::string& help,
           const std::vector<std::string>& allowed = {});
  void add(const std::string& key, int64_t& slot, const std::string& help, int64_t least = 0,
           int64_t most = std::numeric_limits<int64_t>::max());
  void add(const std::string& key, double& slot, const std::string& help, double least,
           double most);
  void add(const std::string& key, std::vector<int64_t>& slot, const std::string& help,
           int64_t least, int64_t most);
  // Adds a list of any length, which may be empty.
  void add(const std::string& key, std::vector<std::string>& slot, const std::string& help,
           const std::vector<std::string>& allowed);

  // Sets the values that the file has. Throws InputError with the line of an unknown key (and the
  // nearest known one), or of a value of another type or out of bounds. The table [source] may give
  // each key's source: "published", "reimplementation" or "ours". Without it, all are "ours".
  void read(const TomlFile& file, const std::string& name);
  // Sets one value by an assignment such as "sft.rate=3e-4". The right side is TOML, or else text.
  void set(const std::string& assignment);

  Json record() const;  // every key with its value
  Json sources() const { return sources_; }
  std::string help() const;  // one line a key

 private:
  struct Setting {
    std::string key, help, wants;
    std::function<bool(const Json&)> take;  // false: the value is of another kind
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

}  // namespace kw::train
