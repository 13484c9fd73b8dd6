// TOML files (https://toml.io/en/v1.0.0) as strict JSON values that know their line, read with
// toml++. Files may be a stranger's: what is nested too deep or too long is refused.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace kw {

struct TomlFile {
  Json values = Json::object();      // dates and times are refused
  std::map<std::string, int> lines;  // of each key, by its path: "sft.rate"
};

// `name` is for messages. InputError with the line.
TomlFile parse_toml(std::string_view text, const std::string& name);

}  // namespace kw
