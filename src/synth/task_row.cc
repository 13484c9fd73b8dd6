#include "synth/task_row.h"

#include <cstdio>
#include <sstream>

#include "formats/base/error.h"
#include "formats/json.h"
#include "program/task_json.h"

namespace kw {
namespace {

Json steps_to_json(const SynthProgram& program, const std::vector<std::string>& names) {
  Json steps = Json::array();
  for (size_t i = 0; i < program.skeleton.size(); ++i) {
    const ShapedStep& shaped = program.shaped.steps[i];
    Json operands = Json::array();
    for (int operand : shaped.operands) operands.push_back(names[operand]);
    steps.push_back({{"operator", program.skeleton[i].op->name},
                     {"operands", std::move(operands)},
                     {"result", names[shaped.result]}});
  }
  return steps;
}

// Returns the members of a row that depend on sizes.
Json sized_to_json(const SynthProgram& program, const std::vector<std::string>& names) {
  Json tensors = Json::object();
  for (size_t i = 0; i < names.size(); ++i) tensors[names[i]] = program.shapes[i];
  return {{"flops", program.flops},
          {"window", {program.low_flops, program.high_flops}},
          {"tensors", std::move(tensors)},
          {"model", model_text(program)},
          {"fused_operator", fused_operator_text(program)}};
}

}  // namespace

std::string synth_id(const SynthOptions& options, uint64_t index) {
  char number[40];
  std::snprintf(number, sizeof number, "%06llu", static_cast<unsigned long long>(index));
  return "level" + std::to_string(options.level) +
         (options.split ? "-" + std::string(split_name(*options.split)) : "") +
         (options.cover ? "-cover" : "") + "-seed" + std::to_string(options.seed) + "-" + number;
}

Json synth_row(const SynthTask& task, const SynthOptions& options) {
  const SynthProgram& program = task.program;
  const std::vector<std::string> names = tensor_names(program);
  Json row = sized_to_json(program, names);
  row["id"] = synth_id(options, task.index);
  row["level"] = options.level;
  row["dtype"] = dtype_name(program.dtype);
  row["structure"] = structure_hash(program.skeleton);
  row["split"] = options.level == 1 ? Json() : Json(split_name(split_of(program.skeleton)));
  row["steps"] = steps_to_json(program, names);
  if (task.twin) row["twin"] = sized_to_json(*task.twin, names);
  if (task.recorded) {
    row["program"] = to_json(*task.recorded);
    Json rejected = Json::array();
    for (const RejectedProgram& each : task.rejected) {
      rejected.push_back(
          {{"flaw", flaw_name(each.flaw)}, {"reason", each.reason}, {"operators", each.operators}});
    }
    row["rejected"] = std::move(rejected);
  }
  return row;
}

std::vector<StoredTask> read_tasks(const std::string& text, const std::string& name) {
  std::vector<StoredTask> tasks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string place = name + ":" + std::to_string(tasks.size() + 1);
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) throw InputError(place + ": is no line of JSON");
    const JsonReader row(json, place);
    tasks.push_back({row.at("id").string(), row.at("model").string(),
                     row.has("twin") ? row.at("twin").at("model").string() : "",
                     row.has("level") ? static_cast<int>(row.at("level").integer(1, 1000)) : 0});
  }
  if (tasks.empty()) throw InputError(name + ": has no tasks");
  return tasks;
}

}  // namespace kw
