#include "search/host_time.h"

#include "program/python/graph_path.h"

namespace kw {
namespace {

// On the host of an H200 (bench/h200/host_time.jsonl): a call without its steps, a launch by
// Triton's launcher, and an operator with a result and a kernel of its own.
constexpr double kCall = 15e-6, kLaunch = 16e-6, kOperator = 12e-6;

}  // namespace

double host_seconds(const Task& task) {
  if (no_graph_because(task).empty()) return 0;
  double seconds = kCall;
  for (const Step& step : task.forward.steps) {
    seconds += std::holds_alternative<Launch>(step) ? kLaunch : kOperator;
  }
  return seconds;
}

}  // namespace kw
