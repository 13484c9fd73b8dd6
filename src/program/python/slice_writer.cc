#include "program/python/slice_writer.h"

#include <algorithm>
#include <sstream>

#include "formats/base/error.h"

namespace kw {
namespace {

std::set<std::string> taken_in(const std::string& before) {
  std::set<std::string> out = names_in(before);
  out.insert({"torch", "warnings", "ModelNew"});  // what is written after the kernels uses these
  return out;
}

// Returns whether `line` is an import that the module has too. A function with the same text would
// not do, as it may have other decorators.
bool is_import_of(const std::string& python, const std::string& line) {
  return (line.starts_with("import ") || line.starts_with("from ")) &&
         ("\n" + python).find("\n" + line) != std::string::npos;
}

std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    out += (line.empty() ? "" : "    " + line) + "\n";
  return out;
}

// Renames the function in every {"function": "name"} of a constexpr.
void rename_functions(Json& literal, const std::map<std::string, std::string>& names) {
  if (literal.is_object() && literal.contains("function")) {
    const auto found = names.find(literal["function"].get<std::string>());
    if (found != names.end()) literal["function"] = found->second;
  } else if (literal.is_structured()) {
    for (Json& part : literal) rename_functions(part, names);
  }
}

}  // namespace

SliceWriter::SliceWriter(const std::string& before) : before_(before), taken_(taken_in(before)) {}

void SliceWriter::add(Kernel& kernel) {
  const auto [entry, fresh] = done_.try_emplace(kernel.source);
  if (fresh) {
    const SliceText slice = take_apart(kernel.source);
    const Names own = definitions(slice);
    if (!own.contains(kernel.name)) {
      throw InputError("export: the source of kernel " + kernel.name + " does not define it");
    }
    if (fits(own)) {
      for (const SliceText::Part& part : slice.imports) imports_.insert(part.text);
      for (const SliceText::Part& part : slice.constants) {
        if (!known_.contains(part.name)) constants_.push_back(part.text);
      }
      for (const SliceText::Part& part : slice.functions) {
        if (!known_.contains(part.name)) functions_.push_back(part.text);
      }
      known_.insert(own.begin(), own.end());
    } else {
      entry->second = put_apart(slice);
    }
  }
  const Names& names = entry->second;
  if (const auto found = names.find(kernel.name); found != names.end()) kernel.name = found->second;
  rename_functions(kernel.constexprs, names);
}

std::string SliceWriter::text() const {
  std::string out;
  for (const std::string& line : imports_) out += line;
  for (const std::string& line : constants_) out += line;
  for (const std::string& function : functions_) out += "\n\n" + function;
  return out;
}

bool SliceWriter::fits(const Names& definitions) const {
  return std::ranges::all_of(definitions, [&](const auto& each) {
    const auto& [name, text] = each;
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second == text;
    return !name.starts_with("_kw") && (!taken_.contains(name) || is_import_of(before_, text));
  });
}

SliceWriter::Names SliceWriter::put_apart(const SliceText& slice) {
  const std::string number = std::to_string(++apart_);
  std::string body, inside, outside;
  for (const auto* parts : {&slice.imports, &slice.constants}) {
    for (const SliceText::Part& part : *parts) body += part.text;
  }
  Names names;
  for (const SliceText::Part& function : slice.functions) {
    body += "\n" + function.text;
    names[function.name] = "_kw_" + number + "_" + function.name;
    inside += function.name + ", ";
    outside += names[function.name] + ", ";
  }
  body += "\nreturn (" + inside + ")\n";
  functions_.push_back("def _kw_slice_" + number + "():\n" + indented(body) + "\n\n(" + outside +
                       ") = _kw_slice_" + number + "()\n");
  return names;
}

}  // namespace kw
