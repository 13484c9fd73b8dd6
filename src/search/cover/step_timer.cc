#include "search/cover/step_timer.h"

#include <algorithm>

#include "program/rewrite/transform.h"
#include "search/cover/fragments.h"
#include "verify/verdict/statistics.h"

namespace kw {
namespace {

// Most bytes of values of the steps that are timed in one run.
constexpr int64_t kGroupBytes = int64_t{4} << 30;

// At most this many steps: each brings along the steps that make its inputs.
constexpr size_t kGroupSteps = 16;
// A step that takes longer than this is not timed.
constexpr std::chrono::milliseconds kDeadline{30000};

// Returns the bytes of the values that flow into a program and out of it.
int64_t bytes_alive(const Program& program) {
  int64_t bytes = 0;
  for (const auto* ids : {&program.inputs, &program.outputs}) {
    for (ValueId id : *ids) bytes += program.values[id].bytes();
  }
  return bytes;
}

bool time_together(Executor& executor, const Task& program, const std::vector<int>& steps,
                   const VerifyOptions& options, double seconds, std::map<int, double>& out) {
  TimeRequest request;
  for (int step : steps) request.tasks.push_back(executor.load(cut(program, {step}).task));
  request.rounds = 20;
  request.input_sets = 1;
  request.own_inputs = true;
  request.seed = options.seed;
  request.max_seconds = seconds;
  const TimeReport times = executor.time(request, std::min(kDeadline, options.trial_deadline));
  for (int task : request.tasks) executor.unload(task);
  if (!times.ok()) return false;
  for (size_t i = 0; i < steps.size(); ++i) out[steps[i]] = 1e-3 * median(times.device_ms[i]);
  return true;
}

}  // namespace

std::map<int, double> time_steps(Executor& executor, const Task& program,
                                 const VerifyOptions& options, double seconds,
                                 const SearchLimit& limit) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(seconds));
  const SearchLimit own = {std::min(end, limit.end), limit.stop};
  std::vector<int> steps;
  for (const auto& single : enumerate_fragments(program, {.max_steps = 1})) {
    if (single.size() == 1) steps.push_back(single[0]);
  }
  std::map<int, double> out;
  for (size_t first = 0; first < steps.size() && !own.over();) {
    std::vector<int> group;
    int64_t bytes = 0;
    for (; first < steps.size() && group.size() < kGroupSteps; ++first) {
      bytes += bytes_alive(cut(program, {steps[first]}).task.forward);
      if (!group.empty() && bytes > kGroupBytes) break;
      group.push_back(steps[first]);
    }
    const double part =
        seconds * static_cast<double>(group.size()) / static_cast<double>(steps.size());
    if (time_together(executor, program, group, options, part, out) || group.size() == 1) continue;
    // A step that cannot be timed must not keep others from being timed.
    for (int step : group) {
      if (own.over()) return out;
      time_together(executor, program, {step}, options, part / static_cast<double>(group.size()),
                    out);
    }
  }
  return out;
}

}  // namespace kw
