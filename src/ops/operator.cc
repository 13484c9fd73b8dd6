#include "ops/operator.h"

#include <map>
#include <unordered_map>

namespace kw {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Splits at commas outside of brackets.
std::vector<std::string_view> split_arguments(std::string_view s) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      if (i > start) out.push_back(trim(s.substr(start, i - start)));
      start = i + 1;
    } else if (s[i] == '(' || s[i] == '[') {
      ++depth;
    } else if (s[i] == ')' || s[i] == ']') {
      --depth;
    }
  }
  return out;
}

// "Tensor(a!) self" or "int[1]? dim=None".
SchemaArg parse_argument(std::string_view text) {
  SchemaArg arg;
  if (const size_t eq = text.find('='); eq != text.npos) {
    arg.default_text = trim(text.substr(eq + 1));
    text = trim(text.substr(0, eq));
  }
  const size_t space = text.rfind(' ');
  arg.name = text.substr(space + 1);
  std::string_view type = trim(text.substr(0, space));
  arg.written = type.find('!') != type.npos;
  for (size_t i = 0; i < type.size(); ++i) {  // "Tensor(a!)?" is Tensor?, "int[1]" is int[]
    if (type[i] == '(') {
      while (type[i] != ')') ++i;
    } else if (type[i] >= '0' && type[i] <= '9') {
      continue;
    } else {
      arg.type += type[i];
    }
  }
  return arg;
}

Schema parse_schema(std::string_view text) {
  Schema schema;
  const size_t arrow = text.rfind(" -> ");
  const std::string_view inside = text.substr(1, text.rfind(')', arrow) - 1);
  bool kwarg_only = false;
  for (std::string_view part : split_arguments(inside)) {
    if (part == "*") {
      kwarg_only = true;
      continue;
    }
    schema.args.push_back(parse_argument(part));
    schema.args.back().kwarg_only = kwarg_only;
  }
  std::string_view results = trim(text.substr(arrow + 4));
  if (results.starts_with("(") && results.ends_with(")")) {
    results = results.substr(1, results.size() - 2);
  }
  for (std::string_view part : split_arguments(results)) {
    std::string type(part.substr(0, part.find_first_of(" (")));
    if (part.find(")[]") != std::string_view::npos) type += "[]";  // "Tensor(a)[]"
    schema.results.push_back(std::move(type));
  }
  return schema;
}

}  // namespace

const OperatorRow* find_operator(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OperatorRow*> out;
    for (const OperatorRow& row : operator_table()) out.emplace(row.name, &row);
    return out;
  }();
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

const OperatorRow& work_row(const OperatorRow& row) {
  const size_t overload = row.name.rfind('.');
  if (overload == 0 || row.name[overload - 1] != '_') return row;
  const std::string_view base = row.name.substr(0, overload - 1);
  const OperatorRow* same =
      find_operator(std::string(base) + std::string(row.name.substr(overload)));
  return same ? *same : row;
}

const Schema& operator_schema(const OperatorRow& row) {
  static const auto schemas = [] {
    std::map<std::string_view, Schema> out;
    for (const OperatorRow& r : operator_table()) out.emplace(r.name, parse_schema(r.schema));
    return out;
  }();
  return schemas.at(row.name);
}

std::string_view op_class_name(OpClass cls) {
  switch (cls) {
    case OpClass::kPointwise:
      return "pointwise";
    case OpClass::kReduction:
      return "reduction";
    case OpClass::kScan:
      return "scan";
    case OpClass::kSort:
      return "sort";
    case OpClass::kSoftmax:
      return "softmax";
    case OpClass::kNorm:
      return "norm";
    case OpClass::kMatmul:
      return "matmul";
    case OpClass::kConv:
      return "convolution";
    case OpClass::kPool:
      return "pooling";
    case OpClass::kAttention:
      return "attention";
    case OpClass::kRecurrent:
      return "recurrent";
    case OpClass::kLoss:
      return "loss";
    case OpClass::kView:
      return "view";
    case OpClass::kCopy:
      return "copy";
    case OpClass::kFactory:
      return "factory";
    case OpClass::kRandom:
      return "random";
    case OpClass::kInit:
      return "in-place";
  }
  return "?";
}

std::string_view recorded_name(Recording recorded) {
  return recorded == Recording::kWhole ? "whole" : "decompose";
}

bool asks_what_is_finite(const OperatorRow& row) {
  for (std::string_view name : {"aten.nan", "aten.isnan", "aten.isinf", "aten.isposinf",
                                "aten.isneginf", "aten.fmax", "aten.fmin"}) {
    if (row.name.starts_with(name)) return true;
  }
  return false;
}

bool is_computing(OpClass cls) {
  return cls != OpClass::kView && cls != OpClass::kFactory && cls != OpClass::kRandom;
}

}  // namespace kw
