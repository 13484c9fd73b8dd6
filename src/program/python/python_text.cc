#include "program/python/python_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>

#include "formats/base/error.h"
#include "program/checked/checked_names.h"
#include "program/task_json.h"

namespace kw {
namespace {

// Whether Python reads `digits` as a number of an item: not with zeros before it, nor a very long
// one.
bool is_index(std::string_view digits) {
  return !digits.empty() && digits.size() < 10 && (digits[0] != '0' || digits.size() == 1) &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return '0' <= c && c <= '9'; });
}

// `[3]["key"]`: items of containers, as the recorder writes them.
bool is_item_access(std::string_view text) {
  while (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    std::string_view key = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (key.size() > 2 && key.starts_with('"') && key.ends_with('"')) {
      if (!is_identifier(key.substr(1, key.size() - 2))) return false;
      continue;
    }
    if (key.starts_with('-')) key.remove_prefix(1);
    if (!is_index(key)) return false;
  }
  return text.empty();
}

// Triton's spelling of a dtype inside constexprs ("fp16" is tl.float16). An integer type is called
// "i32", as in the types of parameters, or "int32", which is the name that it has itself.
std::string triton_language_dtype(const Json& name) {
  static const std::map<std::string, std::string> names = {
      {"fp16", "float16"},  {"bf16", "bfloat16"}, {"fp32", "float32"}, {"fp64", "float64"},
      {"i1", "int1"},       {"i8", "int8"},       {"i16", "int16"},    {"i32", "int32"},
      {"i64", "int64"},     {"u8", "uint8"},      {"u16", "uint16"},   {"u32", "uint32"},
      {"u64", "uint64"},    {"int1", "int1"},     {"int8", "int8"},    {"int16", "int16"},
      {"int32", "int32"},   {"int64", "int64"},   {"uint8", "uint8"},  {"uint16", "uint16"},
      {"uint32", "uint32"}, {"uint64", "uint64"}};
  const auto it = name.is_string() ? names.find(name.get<std::string>()) : names.end();
  if (it == names.end())
    throw InputError("export: a tl.constexpr is a dtype that Triton does not name");
  return "_kw_triton.language." + it->second;
}

// Returns the character that begins at text[at], and moves `at` to the next one.
char32_t next_character(std::string_view text, size_t& at) {
  const unsigned char first = text[at++];
  const int more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  char32_t c = more == 0 ? first : first & (0x3F >> more);
  for (int i = 0; i < more; ++i) c = c << 6 | (static_cast<unsigned char>(text[at++]) & 0x3F);
  return c;
}

}  // namespace

std::string python_float(double x) {
  if (std::isnan(x)) return "float(\"nan\")";
  if (std::isinf(x)) return x > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), x).ptr;
  std::string out(text, end);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

std::string python_string(const std::string& text) {
  if (!is_utf8(text)) throw InputError("export: a text is not UTF-8");
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (' ' <= c && c <= '~') {
      out += static_cast<char>(c);
    } else {
      char escape[16];
      std::snprintf(escape, sizeof(escape), c < 0x10000 ? "\\u%04x" : "\\U%08x",
                    static_cast<unsigned>(c));
      out += escape;
    }
  }
  return out + "\"";
}

std::string python_tuple(const std::vector<int64_t>& items) {
  std::string out = "(";
  for (int64_t item : items) out += std::to_string(item) + ", ";
  if (items.size() > 1) out.resize(out.size() - 2);
  if (items.size() == 1) out.resize(out.size() - 1);
  return out + ")";
}

std::string torch_dtype(DType dtype) { return "torch." + std::string(dtype_name(dtype)); }

namespace {

// A part of a path: a name, and items of what it names (`[3]["key"]`). Plain ones are Python.
struct PathPart {
  std::string name, items;
  bool plain;
};

std::vector<PathPart> path_parts(const std::string& qualified) {
  std::vector<PathPart> out;
  std::stringstream parts(qualified);
  for (std::string part; std::getline(parts, part, '.');) {
    const size_t bracket = std::min(part.find('['), part.size());
    const std::string name = part.substr(0, bracket), items = part.substr(bracket);
    if (name.starts_with("__"))
      throw InputError("export: the name of the parameter or buffer " + python_string(qualified) +
                       " begins with two underscores: call it otherwise");
    const bool plain = is_identifier(name) && is_word(name) && is_item_access(items);
    out.push_back(plain ? PathPart{name, items, true} : PathPart{part, "", false});
  }
  return out;
}

}  // namespace

std::string attribute_path(const std::string& qualified) {
  std::string out = "self";
  for (const auto& [name, items, plain] : path_parts(qualified)) {
    out = plain ? out + "." + name + items : "getattr(" + out + ", " + python_string(name) + ")";
  }
  return out;
}

std::string attribute_keys(const std::string& qualified) {
  std::string out;
  for (const PathPart& part : path_parts(qualified)) {
    out += python_string(part.name) + ", ";
    std::string_view items = part.items;
    while (!items.empty()) {
      const size_t end = items.find(']');
      out += std::string(items.substr(1, end - 1)) + ", ";
      items.remove_prefix(end + 1);
    }
  }
  return out;
}

std::string python_literal(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return python_float(value.get<double>());
  if (value.is_string()) return python_string(value.get<std::string>());
  if (value.contains("f")) return special_float(value);
  if (value.contains("dtype")) return triton_language_dtype(value.at("dtype"));
  if (value.contains("function") && value.at("function").is_string()) {
    return checked_keyword(value.at("function").get<std::string>());
  }
  if (value.contains("tuple")) {
    std::string out = "(";
    for (const Json& item : value.at("tuple")) out += python_literal(item) + ", ";
    return out + ")";
  }
  throw InputError("export: a constant cannot be written in Python: " +
                   python_string(value.dump()));
}

std::string special_float(const Json& tree) {
  const Json& which = tree.at("f");
  if (which != "nan" && which != "inf" && which != "-inf") {
    throw InputError("export: a number cannot be written in Python: " +
                     python_string(which.dump()));
  }
  return python_float(which == "nan" ? NAN : which == "inf" ? INFINITY : -INFINITY);
}

}  // namespace kw
