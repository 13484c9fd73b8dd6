#include "program/checked/checked_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "formats/base/error.h"
#include "formats/tokens/python_tokens.h"
#include "program/task_json.h"

namespace kw {
namespace {

constexpr int64_t kMostRegisters = 1024;  // above what any GPU has for a thread
constexpr size_t kLongestName = 256;
constexpr size_t kMostDimensions = 5;  // of a tensor descriptor (CUtensorMap)

// What follows a name in a message: any bytes may be in it.
std::string shown(std::string_view name) {
  return Json(std::string(name.substr(0, kLongestName)))
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

[[noreturn]] void refuse(const std::string& what, std::string_view name) {
  throw InputError("export: " + shown(name) + " is " + what);
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return '0' <= c && c <= '9'; });
}

// Functions and types of Python's builtins. Called with fields of a stranger's choice, many do
// more than make an object.
bool is_builtin(std::string_view name) {
  static const std::set<std::string_view> names = {
      "abs",         "aiter",        "all",       "anext",
      "any",         "ascii",        "bin",       "bool",
      "breakpoint",  "bytearray",    "bytes",     "callable",
      "chr",         "classmethod",  "compile",   "complex",
      "copyright",   "credits",      "delattr",   "dict",
      "dir",         "divmod",       "enumerate", "eval",
      "exec",        "exit",         "filter",    "float",
      "format",      "frozenset",    "getattr",   "globals",
      "hasattr",     "hash",         "help",      "hex",
      "id",          "input",        "int",       "isinstance",
      "issubclass",  "iter",         "len",       "license",
      "list",        "locals",       "map",       "max",
      "memoryview",  "min",          "next",      "object",
      "oct",         "open",         "ord",       "pow",
      "print",       "property",     "quit",      "range",
      "repr",        "reversed",     "round",     "set",
      "setattr",     "slice",        "sorted",    "staticmethod",
      "str",         "sum",          "super",     "tuple",
      "type",        "vars",         "zip",       "AttributeError",
      "LookupError", "RuntimeError", "TypeError"};
  return names.contains(name);
}

// p0, q1, t12: how the writer numbers its local variables.
bool is_numbered(std::string_view name) {
  return std::string_view("pqdtx").find(name[0]) != std::string_view::npos &&
         is_digits(name.substr(1));
}

}  // namespace

bool is_keyword(std::string_view word) {
  static const std::set<std::string_view> words = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return words.contains(word);
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && starts_name(text[0]) &&
         std::all_of(text.begin(), text.end(), continues_name) && is_utf8(text) &&
         !is_keyword(text) && !text.starts_with("__");
}

bool is_used_by_writer(std::string_view name) {
  static const std::set<std::string_view> others = {
      "torch",   "ModelNew", "self",  "args", "kwargs", "key", "made",
      "tensors", "derived",  "bound", "call", "where",  "why"};
  if (name.empty()) return false;
  // Names of arguments end in an underscore.
  return others.contains(name) || is_builtin(name) || is_numbered(name) || name.ends_with('_') ||
         name.starts_with("_kw");
}

const std::string& checked_class(const std::string& name) {
  if (is_used_by_writer(name) || !is_word(name) || !is_identifier(name)) {
    refuse("no name of a class", name);
  }
  return name;
}

const std::string& checked_base(const std::string& name) {
  return name == "ModelNew" ? name : checked_class(name);
}

std::string checked_keyword(std::string_view name) {
  if (!is_word(name)) refuse("no name of a parameter", name);
  return std::string(name);
}

const std::string& checked_property(const std::string& name) {
  static const std::set<std::string_view> properties = {"name",
                                                        "total_memory",
                                                        "multi_processor_count",
                                                        "L2_cache_size",
                                                        "regs_per_multiprocessor",
                                                        "shared_memory_per_block",
                                                        "shared_memory_per_block_optin",
                                                        "shared_memory_per_multiprocessor",
                                                        "max_threads_per_multi_processor",
                                                        "max_threads_per_block",
                                                        "warp_size",
                                                        "is_integrated",
                                                        "is_multi_gpu_board"};
  if (!properties.contains(name)) refuse("no property of a device", name);
  return name;
}

std::string checked_option(const std::string& name, const Json& value) {
  static const std::map<std::string, std::array<int64_t, 2>> numbers = {
      {"num_warps", {1, 64}},
      {"num_ctas", {1, 16}},
      {"num_stages", {0, 64}},
      {"maxnreg", {1, kMostRegisters}}};
  static const std::set<std::string> switches = {"enable_fp_fusion", "launch_pdl",
                                                 "launch_cooperative_grid"};
  if (switches.contains(name) && value.is_boolean()) {
    return name + (value.get<bool>() ? "=True" : "=False");
  }
  const auto range = numbers.find(name);
  if (range == numbers.end() && !switches.contains(name)) refuse("no option of a launch", name);
  const bool fits = range != numbers.end() && value.is_number_integer() &&
                    range->second[0] <= value.get<int64_t>() &&
                    value.get<int64_t>() <= range->second[1];
  if (!fits) refuse("no value that launch option " + name + " may have", value.dump());
  return name + "=" + std::to_string(value.get<int64_t>());
}

std::string descriptor_block(const std::string& type) {
  const size_t open = type.find('[');
  if (!type.starts_with("tensordesc<") || open == std::string::npos || !type.ends_with("]>")) {
    refuse("no type of a tensor descriptor", type);
  }
  std::string out = "[";
  size_t rank = 0;
  for (size_t at = open + 1, end; at < type.size() - 1; at = end + 1, ++rank) {
    end = type.find_first_of(",]", at);
    std::string_view size = std::string_view(type).substr(at, end - at);
    while (size.starts_with(' ')) size.remove_prefix(1);
    if (!is_digits(size) || size.size() > 6 || size.starts_with('0') || rank == kMostDimensions) {
      refuse("no block of a tensor descriptor", type);
    }
    out += (rank ? ", " : "") + std::string(size);
  }
  return out + "]";
}

size_t block_rank(std::string_view block) {
  return 1 + static_cast<size_t>(std::count(block.begin(), block.end(), ','));
}

const std::string& checked_layout(const LayoutArg& layout) {
  if (layout.name != "strided") refuse("no layout", layout.name);
  return layout.name;
}

const std::string& checked_memory_format(const MemoryFormatArg& format) {
  static const std::set<std::string> known = {"contiguous_format", "preserve_format",
                                              "channels_last", "channels_last_3d"};
  if (!known.contains(format.name)) refuse("no memory format", format.name);
  return format.name;
}

}  // namespace kw
