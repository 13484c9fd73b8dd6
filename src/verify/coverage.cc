#include "verify/coverage.h"

#include <algorithm>

#include "ops/operator.h"
#include "program/rewrite/least_cost.h"
#include "program/rewrite/transform.h"
#include "program/spelled_cost.h"
#include "verify/left_work.h"

namespace kw {
namespace {

// What PyTorch does in a candidate, by one price.
struct LeftCost {
  double all = 0;
  double known = 0, other = 0;  // of steps that the reference has, and of those that it has not
};

LeftCost left_cost(const Task& candidate, const std::vector<bool>& known, const StepPrice& price,
                   double Cost::*measure) {
  const auto live = live_steps(candidate.forward, candidate.kernels);
  LeftCost out;
  for (size_t i = 0; i < live.size(); ++i) {
    const Step& step = candidate.forward.steps[i];
    const double own = live[i] ? price(candidate.forward, step).*measure : 0;
    out.all += own;
    if (!fills_memory(step)) (known[i] ? out.known : out.other) += own;
  }
  return out;
}

// Two shares, of which the smaller counts: of the reference as it is written, and of what algebra
// leaves of it beside the steps that the candidate left as they are.
double share_of(const Task& reference, const LeftWork& work, const LeftCost& left,
                const StepPrice& price, double Cost::*measure) {
  double written = 0;
  for (const Step& step : reference.forward.steps) {
    written += price(reference.forward, step).*measure;
  }
  if (written <= left.all) return 0;
  const double share = (written - left.all) / written;
  if (left.known + left.other <= 0) return share;
  const double rest = least_price(
      work.reference, [&](const Task& form) { return cost_in_best_order(form, price, measure); });
  if (rest <= left.other) return 0;
  return std::min(share, (rest - left.other) / (rest + left.known));
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
  const LeftWork work = left_work(reference, candidate);
  for (const StepPrice& price :
       {StepPrice(step_cost), StepPrice([&](const Program&program, const Step&step) {
          return spelled_cost(program, step, products);
        })}) {
    const auto share = [&](double Cost::*measure) {
      return share_of(reference, work, left_cost(candidate, work.known, price, measure), price,
                      measure);
    };
    out.flops_share = std::min(out.flops_share, share(&Cost::flops));
    out.bytes_share = std::min(out.bytes_share, share(&Cost::bytes));
  }
  out.share = std::max(out.flops_share, out.bytes_share);
  return out;
}

}  // namespace kw
