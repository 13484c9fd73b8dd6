#include "verify/verdict/tree_text.h"

namespace kw {
namespace {

// Returns the items of a tree as "a, b".
std::string items_text(const Json& items) {
  std::string out;
  for (const Json& item : items) out += (out.empty() ? "" : ", ") + tree_text(item);
  return out;
}

}  // namespace

std::string tree_text(const Json& tree) {
  if (tree.is_null()) return "None";
  if (tree.is_boolean()) return tree.get<bool>() ? "True" : "False";
  if (!tree.is_object()) return tree.dump();
  const std::string kind = tree.begin().key();
  const Json& what = tree.begin().value();
  if (kind == "out") return "output " + what.dump();
  if (kind == "list") return "[" + items_text(what) + "]";
  if (kind == "tuple") return "(" + items_text(what) + (what.size() == 1 ? ",)" : ")");
  std::string out;
  if (kind == "dict") {
    for (const Json& item : what) {
      out += (out.empty() ? "" : ", ") + item[0].dump() + ": " + tree_text(item[1]);
    }
    return "{" + out + "}";
  }
  if (kind != "object") return what.is_string() ? what.get<std::string>() : what.dump();
  for (const auto& [name, item] : what["fields"].items()) {
    out += (out.empty() ? "" : ", ") + name + "=" + tree_text(item);
  }
  return what["type"].get<std::string>() + "(" + out + ")";
}

}  // namespace kw
