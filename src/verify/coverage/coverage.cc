#include "verify/coverage/coverage.h"

#include <algorithm>
#include <functional>

#include "ops/operator.h"
#include "program/rewrite/transform.h"
#include "program/spelled_cost.h"
#include "verify/coverage/least_cost.h"
#include "verify/coverage/left_work.h"

namespace kw {
namespace {

// Prices steps of one Program by one measure.
using Measured = std::function<double(const Step&)>;

double aten_cost(const Task& task, const Measured& price) {
  const auto live = live_steps(task.forward, task.kernels);
  double total = 0;
  for (size_t i = 0; i < live.size(); ++i) total += live[i] ? price(task.forward.steps[i]) : 0;
  return total;
}

bool is_given(const Step& step) {
  const AtenCall* call = std::get_if<AtenCall>(&step);
  return call && call->find(kGiven);
}

// Returns the smaller of two shares: of the reference as it is written, and of the least that both
// cost beside the steps that both have.
double share_of(const Task& reference, const Task& candidate, const LeftWork& work,
                const StepPrice& price, double Cost::*measure) {
  const auto in = [&](const Task& task) {
    return [&](const Step& step) { return price(task.forward, step).*measure; };
  };
  const double written = aten_cost(reference, in(reference));
  const double left = aten_cost(candidate, in(candidate));
  if (written <= left) return 0;
  const double known = aten_cost(
      work.candidate, [&](const Step& step) { return is_given(step) ? in(candidate)(step) : 0; });
  const auto least = [&](const Task& task) {
    return least_price(task,
                       [&](const Task& form) { return cost_in_best_order(form, price, measure); });
  };
  const double other = least(work.candidate);
  const double share = (written - left) / written;
  if (known + other <= 0) return share;
  const double rest = least(work.reference);
  return rest <= other ? 0 : std::min(share, (rest - other) / (rest + known));
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
      return share_of(reference, candidate, work, price, measure);
    };
    if (out.flops_share > 0) out.flops_share = std::min(out.flops_share, share(&Cost::flops));
    if (out.bytes_share > 0) out.bytes_share = std::min(out.bytes_share, share(&Cost::bytes));
  }
  out.share = std::max(out.flops_share, out.bytes_share);
  return out;
}

}  // namespace kw
