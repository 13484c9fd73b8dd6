#include "search/step_timer.h"

#include "program/transform.h"
#include "search/fragments.h"
#include "verify/statistics.h"

namespace kw {
namespace {

// Values of steps that are timed side by side.
constexpr int64_t kGroupBytes = int64_t{4} << 30;

// What flows into a program and out of it.
int64_t bytes_alive(const Program& program) {
  int64_t bytes = 0;
  for (const auto* ids : {&program.inputs, &program.outputs}) {
    for (ValueId id : *ids) bytes += program.values[id].bytes();
  }
  return bytes;
}

bool time_together(ExecutorClient& executor, const Task& program, const std::vector<int>& steps,
                   const VerifyOptions& options, double seconds, std::map<int, double>& out) {
  TimeRequest request;
  for (int step : steps) request.tasks.push_back(executor.load(cut(program, {step}).task));
  request.rounds = 20;
  request.input_sets = 1;
  request.own_inputs = true;
  request.seed = options.seed;
  request.max_seconds = seconds;
  const TimeReport times = executor.time(request, options.trial_deadline);
  for (int task : request.tasks) executor.unload(task);
  if (times.status != "ok") return false;
  for (size_t i = 0; i < steps.size(); ++i) out[steps[i]] = 1e-3 * median(times.device_ms[i]);
  return true;
}

}  // namespace

std::map<int, double> time_steps(ExecutorClient& executor, const Task& program,
                                 const VerifyOptions& options, double seconds,
                                 const SearchLimit& limit) {
  std::map<int, double> out;
  std::vector<std::vector<int>> groups;
  int64_t bytes = kGroupBytes;
  size_t count = 0;
  for (const auto& single : enumerate_fragments(program, {.max_steps = 1})) {
    if (single.size() != 1) continue;
    const int64_t more = bytes_alive(cut(program, single).task.forward);
    if (bytes + more > kGroupBytes) groups.emplace_back(), bytes = 0;
    groups.back().push_back(single[0]);
    bytes += more;
    ++count;
  }
  for (const std::vector<int>& group : groups) {
    const double part = seconds * static_cast<double>(group.size()) / static_cast<double>(count);
    if (limit.over()) return out;
    if (time_together(executor, program, group, options, part, out) || group.size() == 1) continue;
    // One that cannot be timed must not keep the others from it.
    for (int step : group) {
      if (limit.over()) return out;
      time_together(executor, program, {step}, options, part / static_cast<double>(group.size()),
                    out);
    }
  }
  return out;
}

}  // namespace kw
