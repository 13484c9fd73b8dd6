// Exports of hostile Tasks. An input is {"reference": text, "task": Task, "files": {hash: text}}.
// It is exported as it is and, if that is not refused, again with hostile strings in the places of
// strings. What is not refused goes to the file KW_EXPORTS, a line of JSON each, for
// tests/export_forms.py.
#include "program/python/export.h"

#include <fstream>
#include <functional>
#include <random>
#include <unordered_set>
#include <vector>

#include "fuzz.h"
#include "program/task_json.h"

namespace kw {
namespace {

using Random = std::mt19937_64;

constexpr int kVariants = 32;  // with hostile strings, of each input that is not refused

const char* const kHostile[] = {"",
                                " ",
                                "a b",
                                "__import__",
                                "__import__('os').system('x')",
                                "__class__.__init__.__globals__",
                                "os.system",
                                "x); import os; (x",
                                "x\nimport os\n",
                                "x\n        import os",
                                "x\rimport os\r",
                                "x;import os",
                                "x, debug=True",
                                "x=1, **y",
                                "\nimport os\n",
                                "\n@exec\n@triton.jit\ndef k(x):\n    pass\n",
                                "\ndef k(x=print(1)):\n    pass\n",
                                "A = tl.constexpr(print(1))\n",
                                "from os import system as tl\n",
                                "import triton as torch\n",
                                "f\"{x[\"'''\"]}\"\n",
                                "    return x\nprint(1)\n",
                                "\"",
                                "'",
                                "\\",
                                "\"\"\"",
                                "'''",
                                "\"\"\"\nimport os\n\"\"\"",
                                "#",
                                "(",
                                ")",
                                "]",
                                "\f",
                                "\v",
                                "\x1c",
                                "\x7f",
                                "\u0085",
                                "\u2028import os\u2028",
                                "\uFEFF",
                                "caf\u00E9",
                                "\uFF45\uFF58\uFF45\uFF43",
                                "# coding: latin-1\n",
                                "lambda",
                                "None",
                                "return",
                                "torch",
                                "triton",
                                "tl",
                                "super",
                                "zip",
                                "exec",
                                "print",
                                "ModelNew",
                                "Model",
                                "_kw_matches",
                                "_kw_device",
                                "self",
                                "args",
                                "args_",
                                "t0",
                                "p0",
                                "x0",
                                "x_",
                                "forward",
                                "function",
                                "tuple",
                                "dtype",
                                "nan",
                                "float(\"nan\")",
                                "a.b",
                                "a.0",
                                "a[0]",
                                "a[00]",
                                "a[\"b\"]",
                                "a[\"b\"].c",
                                "a[print(1)]",
                                "..",
                                "constexpr",
                                "*fp32",
                                "i32",
                                "tensordesc<fp32[4, 4]>",
                                "tensordesc<fp32[print(1)]>",
                                "tensordesc<fp32[4, 4, 4, 4, 4, 4]>",
                                "num_warps",
                                "maxnreg",
                                "debug",
                                "train",
                                "channels_last",
                                "aten.relu.default",
                                "aten.add_.Tensor",
                                "aten.view.default",
                                "aten.empty.memory_format",
                                "aten.relu.default(t0); import os",
                                "kernelwright.constant.default",
                                "0"};

std::string any_hostile(Random& random) { return kHostile[random() % std::size(kHostile)]; }

// A hostile string in the place of `text`, or somewhere in it.
std::string damaged(const std::string& text, Random& random) {
  std::string out = any_hostile(random);
  if (text.empty() || random() % 2 == 0) return out;
  size_t at = random() % (text.size() + 1);
  if (random() % 2 == 0) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;  // not inside of a character
  return std::string(text).insert(at, out);
}

// Calls `visit` for each string of a document, and for each name of a member with its owner.
void for_each_string(Json& json, const std::function<void(Json&, const std::string*)>& visit) {
  if (json.is_string()) return visit(json, nullptr);
  if (!json.is_structured()) return;
  if (json.is_object()) {
    for (auto member = json.begin(); member != json.end(); ++member) visit(json, &member.key());
  }
  for (Json& part : json) for_each_string(part, visit);
}

void damage(Json& json, Random& random) {
  int strings = 0;
  for_each_string(json, [&](Json&, const std::string*) { ++strings; });
  if (strings == 0) return;
  int left = static_cast<int>(random() % strings);
  Json* place = nullptr;
  std::string name;
  for_each_string(json, [&](Json& at, const std::string* member) {
    if (left-- != 0) return;
    place = &at;
    name = member ? *member : "";
  });
  if (place->is_string()) {
    *place = damaged(place->get<std::string>(), random);
  } else {
    Json member = place->at(name);
    if (random() % 2 == 0) place->erase(name);
    (*place)[damaged(name, random)] = std::move(member);
  }
}

void keep(const std::string& reference, const std::string& python, bool variant) {
  static const char* path = std::getenv("KW_EXPORTS");
  if (!path) return;
  static std::ofstream out(path);
  static std::unordered_set<size_t> known;
  if (!known.insert(std::hash<std::string>()(python)).second) return;
  out << Json({{"reference", reference}, {"python", python}, {"variant", variant}}).dump() << "\n"
      << std::flush;
}

// Returns whether it is not refused.
bool export_one(const Json& json, bool variant) {
  const auto done = parsed([&] {
    const JsonReader in(json, "");
    std::map<std::string, std::string> files;
    for (const auto& [hash, text] : in.at("files").members()) files.emplace(hash, text.string());
    const Task task = task_from_json(in.at("task"), &files);
    const std::string& reference = in.at("reference").string();
    const std::string python = export_python(task, reference);
    must(python.starts_with(reference), "an export begins with the reference's text");
    keep(reference, python, variant);
    return true;
  });
  return done.has_value();
}

void check(std::string_view text) {
  const auto json = parsed([&] { return parse_json(text, "fuzz"); });
  if (!json || !export_one(*json, false)) return;
  Random random(std::hash<std::string_view>()(text));
  for (int i = 0; i < kVariants; ++i) {
    Json variant = *json;
    for (size_t count = random() % 4 == 0 ? 2 : 1; count > 0; --count) {
      // Names of state, kernels and arguments are in the task.
      const bool other = random() % 4 == 0 || !variant.contains("task");
      damage(other ? variant : variant["task"], random);
    }
    export_one(variant, true);
  }
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
