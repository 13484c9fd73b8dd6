#include "program/program.h"

#include <algorithm>

namespace kw {
namespace {

void add_once(std::vector<ValueId>& out, ValueId id) {
  if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
}

void visit_arg(Arg& arg, const std::function<void(ValueId&)>& visit) {
  if (auto* ref = std::get_if<ValueRef>(&arg.v)) {
    visit(ref->id);
  } else if (auto* list = std::get_if<ArgList>(&arg.v)) {
    for (Arg& item : *list) visit_arg(item, visit);
  }
}

// Values among a launch's arguments whose parameter index is in `chosen`.
std::vector<ValueId> launch_values(const Launch& launch, const Kernel& kernel,
                                   const std::vector<int>* chosen) {
  std::vector<ValueId> out;
  size_t arg = 0;
  for (size_t p = 0; p < kernel.params.size() && arg < launch.args.size(); ++p) {
    if (kernel.params[p].is_constexpr()) continue;
    const Arg& value = launch.args[arg++];
    if (!value.is_value()) continue;
    if (chosen && std::find(chosen->begin(), chosen->end(), static_cast<int>(p)) == chosen->end()) {
      continue;
    }
    add_once(out, value.value());
  }
  return out;
}

}  // namespace

int64_t Value::numel() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

bool Arg::operator==(const Arg& other) const { return v == other.v; }

const Arg* AtenCall::find(std::string_view name) const {
  auto it = args.find(std::string(name));
  return it == args.end() ? nullptr : &it->second;
}

std::vector<ValueId> step_reads(const Step& step, const std::vector<Kernel>& kernels) {
  if (const auto* launch = std::get_if<Launch>(&step)) {
    const Kernel& kernel = kernels.at(launch->kernel);
    return launch_values(*launch, kernel, kernel.compiled ? &kernel.compiled->reads : nullptr);
  }
  std::vector<ValueId> out;
  Step copy = step;
  for_each_value(copy, [&](ValueId& id) { add_once(out, id); });
  return out;
}

std::vector<ValueId> step_writes(const Step& step, const std::vector<Kernel>& kernels) {
  if (const auto* launch = std::get_if<Launch>(&step)) {
    const Kernel& kernel = kernels.at(launch->kernel);
    return launch_values(*launch, kernel, kernel.compiled ? &kernel.compiled->writes : nullptr);
  }
  return std::get<AtenCall>(step).mutated;
}

std::vector<ValueId> step_defines(const Step& step) {
  std::vector<ValueId> out;
  if (const auto* call = std::get_if<AtenCall>(&step)) {
    for (ValueId id : call->results) {
      if (id >= 0) out.push_back(id);
    }
  }
  return out;
}

void for_each_value(Step& step, const std::function<void(ValueId&)>& visit) {
  if (auto* call = std::get_if<AtenCall>(&step)) {
    for (auto& [name, arg] : call->args) visit_arg(arg, visit);
  } else {
    for (Arg& arg : std::get<Launch>(step).args) visit_arg(arg, visit);
  }
}

bool takes_descriptors(const Task& task) {
  for (const Kernel& kernel : task.kernels) {
    for (const KernelParam& param : kernel.params) {
      if (param.is_descriptor()) return true;
    }
  }
  return false;
}

}  // namespace kw
