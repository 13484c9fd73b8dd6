#include "formats/toml.h"

// Its assertions fire where its own error behind them says what is wrong with the file: "[.".
#define TOML_ASSERT(...) static_cast<void>(0)
#include <toml++/toml.h>

#include "formats/base/error.h"

namespace kw {
namespace {

constexpr size_t kLongest = 1 << 20;
constexpr int kDeepest = 16;

class Reader {
 public:
  Reader(const std::string& name, TomlFile& out) : name_(name), out_(out) {}

  Json table(const toml::table& in, const std::string& path, int depth) {
    Json made = Json::object();
    for (const auto& [key, value] : in) {
      const std::string name(key.str());
      const std::string own = path.empty() ? name : path + "." + name;
      out_.lines[own] = static_cast<int>(key.source().begin.line);
      made[name] = node(value, own, depth + 1);
    }
    return made;
  }

 private:
  [[noreturn]] void fail(const toml::node& in, const std::string& what) const {
    throw InputError(name_ + ":" + std::to_string(in.source().begin.line) + ": " + what);
  }

  Json node(const toml::node& in, const std::string& path, int depth) {
    if (depth > kDeepest) fail(in, path + " is nested too deep");
    switch (in.type()) {
      case toml::node_type::table:
        return table(*in.as_table(), path, depth);
      case toml::node_type::array: {
        Json made = Json::array();
        for (const toml::node& item : *in.as_array()) made.push_back(node(item, path, depth + 1));
        return made;
      }
      case toml::node_type::string:
        return in.as_string()->get();
      case toml::node_type::integer:
        return in.as_integer()->get();
      case toml::node_type::floating_point:
        return in.as_floating_point()->get();
      case toml::node_type::boolean:
        return in.as_boolean()->get();
      default:
        fail(in, path + " is a date or a time: a number, text, true or false was expected");
    }
  }

  const std::string& name_;
  TomlFile& out_;
};

}  // namespace

TomlFile parse_toml(std::string_view text, const std::string& name) {
  if (text.size() > kLongest) throw InputError(name + ": longer than a megabyte");
  TomlFile out;
  try {
    out.values = Reader(name, out).table(toml::parse(text), "", 0);
  } catch (const toml::parse_error& error) {
    throw InputError(name + ":" + std::to_string(error.source().begin.line) + ": " +
                     std::string(error.description()));
  }
  return out;
}

}  // namespace kw
