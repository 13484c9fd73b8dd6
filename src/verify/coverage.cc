#include "verify/coverage.h"

#include <algorithm>
#include <functional>

#include "ops/operator.h"
#include "program/rewrite/transform.h"
#include "program/spelled_cost.h"

namespace kw {
namespace {

using StepPrice = std::function<Cost(const Program&, const Step&)>;

Cost live_aten_cost(const Task& task, const StepPrice& price) {
  const auto live = live_steps(task.forward, task.kernels);
  Cost total;
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i]) total += price(task.forward, task.forward.steps[i]);
  }
  return total;
}

double share_of(double reference, double left) {
  return reference > 0 ? std::max(0.0, reference - left) / reference : 0.0;
}

}  // namespace

bool is_computing(const Step& step) {
  const AtenCall* call = std::get_if<AtenCall>(&step);
  if (!call) return false;
  const OperatorRow* row = find_operator(call->op);
  return !row || kw::is_computing(row->cls);
}

Coverage coverage(const Task& reference, const Task& candidate,
                  const std::vector<int>& idle_launches) {
  Coverage out;
  const auto live = live_steps(candidate.forward, candidate.kernels);
  for (size_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    const Step& step = candidate.forward.steps[i];
    if (std::holds_alternative<Launch>(step)) {
      const bool idle = std::find(idle_launches.begin(), idle_launches.end(),
                                  static_cast<int>(i)) != idle_launches.end();
      out.launches_alive += idle ? 0 : 1;
      continue;
    }
    if (is_computing(step)) out.aten_left.push_back(std::get<AtenCall>(step).op);
  }
  if (out.launches_alive == 0) return out;
  // Both prices count, and the smaller share is taken. By the price of recorded steps alone, a
  // fused operator would do many steps of the reference for the price of one. By the price of
  // unfused steps alone, few cheap steps would do what one operator of the reference does.
  const bool products = !has_products(reference.forward);
  out.flops_share = out.bytes_share = 1;
  for (const StepPrice& price :
       {StepPrice(step_cost), StepPrice([&](const Program&program, const Step&step) {
          return spelled_cost(program, step, products);
        })}) {
    const Cost work = live_aten_cost(reference, price), left = live_aten_cost(candidate, price);
    out.flops_share = std::min(out.flops_share, share_of(work.flops, left.flops));
    out.bytes_share = std::min(out.bytes_share, share_of(work.bytes, left.bytes));
  }
  out.share = std::max(out.flops_share, out.bytes_share);
  return out;
}

}  // namespace kw
