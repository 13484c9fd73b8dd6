#include "verify/coverage/opaque_calls.h"

#include <map>

#include "program/makers.h"
#include "program/task_json.h"

namespace kw {
namespace {

// An opaque call without its tensors.
std::string form_of(AtenCall call) {
  std::string out = call.op;
  Step step = std::move(call);
  for_each_value(step, [](ValueId& id) { id = 0; });
  for (const auto& [name, arg] : std::get<AtenCall>(step).args) {
    out += " " + name + "=" + arg_to_json(arg).dump();
  }
  return out;
}

void count(const Program& program, int by,
           std::map<std::string, std::pair<std::string, int>>& calls) {
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (!call || !is_opaque(*call)) continue;
    auto& [op, times] = calls[form_of(*call)];
    op = call->op;
    times += by;
  }
}

}  // namespace

std::string other_opaque_calls(const Task& reference, const Task& candidate) {
  std::map<std::string, std::pair<std::string, int>> calls;
  for (const auto& [task, by] : {std::pair(&candidate, 1), std::pair(&reference, -1)}) {
    count(task->derive, by, calls);
    count(task->forward, by, calls);
  }
  for (const auto& [form, call] : calls) {
    const auto& [op, more] = call;
    if (more > 0) {
      return op + " is called " + std::to_string(more) + (more == 1 ? " time" : " times") +
             " more than by the reference, with these arguments. Kernelwright does not know this "
             "operator, so a candidate may call it only as the reference does";
    }
  }
  return "";
}

}  // namespace kw
