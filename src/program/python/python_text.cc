#include "program/python/python_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw {
namespace {

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
    if (key.empty() ||
        !std::all_of(key.begin(), key.end(), [](char c) { return '0' <= c && c <= '9'; }))
      return false;
  }
  return text.empty();
}

// Words that no attribute can be named by after a dot.
bool is_keyword(std::string_view word) {
  static const std::set<std::string_view> words = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return words.count(word) > 0;
}

// Triton's spelling of a dtype inside constexprs ("fp16" is tl.float16).
std::string triton_language_dtype(const std::string& name) {
  static const std::map<std::string, std::string> names = {
      {"fp16", "float16"}, {"bf16", "bfloat16"}, {"fp32", "float32"}, {"fp64", "float64"},
      {"i1", "int1"},      {"i8", "int8"},       {"i16", "int16"},    {"i32", "int32"},
      {"i64", "int64"},    {"u8", "uint8"},      {"u16", "uint16"},   {"u32", "uint32"},
      {"u64", "uint64"}};
  auto it = names.find(name);
  if (it == names.end()) throw InputError("export: unknown constexpr dtype " + name);
  return "tl." + it->second;
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

std::string python_string(const std::string& text) { return Json(text).dump(); }

std::string python_tuple(const std::vector<int64_t>& items) {
  std::string out = "(";
  for (int64_t item : items) out += std::to_string(item) + ", ";
  if (items.size() > 1) out.resize(out.size() - 2);
  if (items.size() == 1) out.resize(out.size() - 1);
  return out + ")";
}

std::string torch_dtype(DType dtype) { return "torch." + std::string(dtype_name(dtype)); }

std::string attribute_path(const std::string& qualified) {
  std::string out = "self";
  std::stringstream parts(qualified);
  for (std::string part; std::getline(parts, part, '.');) {
    const size_t bracket = std::min(part.find('['), part.size());
    const std::string name = part.substr(0, bracket), items = part.substr(bracket);
    const bool plain = is_identifier(name) && !is_keyword(name) && is_item_access(items);
    out = plain ? out + "." + part : "getattr(" + out + ", " + python_string(part) + ")";
  }
  return out;
}

std::string python_literal(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return python_float(value.get<double>());
  if (value.is_string()) return python_string(value.get<std::string>());
  if (value.contains("dtype")) return triton_language_dtype(value.at("dtype").get<std::string>());
  if (value.contains("function")) return value.at("function").get<std::string>();
  if (value.contains("tuple")) {
    std::string out = "(";
    for (const Json& item : value.at("tuple")) out += python_literal(item) + ", ";
    return out + ")";
  }
  throw InputError("no Python for the constant " + value.dump());
}

std::string special_float(const Json& tree) {
  const Json& which = tree.front();
  return python_float(which == "nan" ? NAN : which == "inf" ? INFINITY : -INFINITY);
}

}  // namespace kw
