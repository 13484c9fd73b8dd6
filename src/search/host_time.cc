#include "search/host_time.h"

#include "program/python/graph_path.h"

namespace kw {
namespace {

// Means over bench/h200/host_time.jsonl as of 21aacd8, with checks in Python: a call without its
// steps, and a launch. At e6fbd53, on a busier host, they are 23 and 9 us. PyTorch's operators
// launch kernels, too, and count the same.
constexpr double kCall = 16e-6, kStep = 10e-6;

}  // namespace

double host_seconds(const Task& task) {
  if (no_graph_because(task).empty()) return 0;
  return kCall + kStep * static_cast<double>(task.forward.steps.size());
}

}  // namespace kw
