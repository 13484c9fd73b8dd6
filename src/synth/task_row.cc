#include "synth/task_row.h"

#include <cstdio>

#include "formats/json.h"

namespace kw {

std::string synth_row(const SynthProgram& program, const SynthOptions& options, uint64_t index) {
  char id[80];
  std::snprintf(id, sizeof id, "level%d-seed%llu-%06llu", options.level,
                static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(index));
  const std::vector<std::string> names = tensor_names(program);
  Json steps = Json::array(), tensors = Json::object();
  for (size_t i = 0; i < program.skeleton.size(); ++i) {
    const ShapedStep& shaped = program.shaped.steps[i];
    Json operands = Json::array();
    for (int operand : shaped.operands) operands.push_back(names[operand]);
    steps.push_back({{"operator", program.skeleton[i].op->name},
                     {"operands", std::move(operands)},
                     {"result", names[shaped.result]}});
  }
  for (size_t i = 0; i < names.size(); ++i) tensors[names[i]] = program.shapes[i];
  return Json{{"id", id},
              {"level", options.level},
              {"dtype", dtype_name(program.dtype)},
              {"structure", synth_structure(program)},
              {"flops", program.flops},
              {"window", {program.low_flops, program.high_flops}},
              {"steps", std::move(steps)},
              {"tensors", std::move(tensors)},
              {"model", model_text(program)},
              {"fused_operator", fused_operator_text(program)}}
      .dump();
}

}  // namespace kw
