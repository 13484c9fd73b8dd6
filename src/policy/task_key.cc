#include "policy/task_key.h"

#include <algorithm>
#include <filesystem>

#include "program/cost.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

Task function_of(const Task& task) {
  Task out;
  out.kernels = task.kernels;
  out.forward = task.forward;
  out.arguments = task.arguments;
  out.result = task.result;
  return out;
}

}  // namespace

std::string forward_hash(const Task& task) { return canonical_hash(function_of(task)); }

std::string forward_structure_hash(const Task& task) { return structure_hash(function_of(task)); }

std::string model_name(const Task& task) {
  if (task.source.cls == "fragment") return "";
  return std::filesystem::path(task.source.file).replace_extension().generic_string();
}

double least_seconds(const Task& task, const DeviceProfile& profile) {
  const Program& program = task.forward;
  double bytes = 0;
  for (ValueId id : program.inputs) bytes += static_cast<double>(program.values[id].bytes());
  for (ValueId id : program.outputs) bytes += static_cast<double>(program.values[id].bytes());
  return std::max(bytes / profile.bytes_per_second,
                  program_cost(program).flops / profile.tf32_flops) +
         profile.launch_seconds;
}

}  // namespace kw
