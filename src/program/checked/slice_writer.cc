#include "program/checked/slice_writer.h"

#include <algorithm>
#include <sstream>

#include "formats/base/error.h"
#include "program/checked/checked_names.h"
#include "program/task_json.h"

namespace kw {
namespace {

// Whether a module can have `name` for something of a slice. Python takes some letters outside of
// ASCII for others, so such a name may be another one.
bool is_free(const std::string& name, const std::set<std::string>& taken) {
  return is_identifier(name) && !is_used_by_writer(name) && !taken.contains(name);
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

std::string renamed(const std::string& function, const std::map<std::string, std::string>& names) {
  const auto found = names.find(function);
  if (found == names.end()) {
    throw InputError("export: the source of a kernel does not define its function " + function);
  }
  return found->second;
}

// Renames the function in every {"function": "name"} of a constexpr.
void rename_functions(Json& literal, const std::map<std::string, std::string>& names) {
  if (literal.is_object() && literal.contains("function")) {
    const Json& name = literal["function"];
    literal["function"] = renamed(name.is_string() ? name.get<std::string>() : "", names);
  } else if (literal.is_structured()) {
    for (Json& part : literal) rename_functions(part, names);
  }
}

}  // namespace

SliceWriter::SliceWriter(const std::string& before) : before_(before), taken_(names_in(before)) {}

void SliceWriter::add(Kernel& kernel) {
  const auto [entry, fresh] = done_.try_emplace(kernel.source);
  if (fresh) {
    const SliceText slice = take_apart(kernel.source);
    const Names own = definitions(slice);
    Done& done = entry->second;
    for (const SliceText::Part& part : slice.functions) {
      done.called[part.name] = part.name;
      done.parameters[part.name] = part.parameters;
    }
    if (fits(own)) {
      put_here(slice, own);
    } else {
      done.called = put_apart(slice);
    }
  }
  const Done& done = entry->second;
  const std::string called = renamed(kernel.name, done.called);
  for (const KernelParam& param : kernel.params) {
    const std::string name = param.name.substr(0, param.name.find('.'));
    if (!done.parameters.at(kernel.name).contains(name)) {
      throw InputError("export: kernel " + kernel.name + " has no parameter " + name);
    }
  }
  kernel.name = called;
  rename_functions(kernel.constexprs, done.called);
}

void SliceWriter::put_here(const SliceText& slice, const Names& definitions) {
  for (const SliceText::Part& part : slice.imports) imports_.insert(part.text);
  for (const SliceText::Part& part : slice.constants) {
    if (!known_.contains(part.name)) constants_.push_back(part.text);
  }
  for (const SliceText::Part& part : slice.functions) {
    if (!known_.contains(part.name)) functions_.push_back(part.text);
  }
  known_.insert(definitions.begin(), definitions.end());
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
    return is_free(name, taken_) || (is_identifier(name) && is_import_of(before_, text));
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
