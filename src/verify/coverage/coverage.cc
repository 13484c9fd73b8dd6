#include "verify/coverage/coverage.h"

#include <algorithm>
#include <functional>

#include "ops/operator.h"
#include "program/makers.h"
#include "program/rewrite/step_history.h"
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

// Returns the steps of launches that only copy what PyTorch computed by steps that are not given.
// `copies` are in order of steps.
std::vector<int> copies_of_others(const Task& candidate, const std::vector<LaunchCopy>& copies) {
  std::vector<int> out;
  if (copies.empty()) return out;
  const Program& program = candidate.forward;
  const StepHistory history(program, candidate.kernels);
  for (const LaunchCopy& copy : copies) {
    ValueId source = copy.source;
    int maker = copy.step;
    // Goes back to what made the numbers, before PyTorch's own copies of them.
    do {
      maker = history.last_write(program.values[source].storage, maker);
      if (maker < 0) break;
      const auto* call = std::get_if<AtenCall>(&program.steps[maker]);
      const OperatorRow* row = call ? find_operator(call->op) : nullptr;
      if (!row || work_row(*row).cls != OpClass::kCopy || operands_of(*call).empty()) break;
      source = operands_of(*call).front();
    } while (true);
    if (maker < 0) continue;
    const bool by_launch = std::holds_alternative<Launch>(program.steps[maker]);
    const bool other =
        by_launch ? std::ranges::count(out, maker) > 0 : !is_given(program.steps[maker]);
    if (other && std::ranges::count(out, copy.step) == 0) out.push_back(copy.step);
  }
  return out;
}

}  // namespace

bool is_computing(const Step& step) {
  const AtenCall* call = std::get_if<AtenCall>(&step);
  if (!call) return false;
  const OperatorRow* row = find_operator(call->op);
  return !row || kw::is_computing(row->cls);
}

Coverage coverage(const Task& reference, const Task& candidate, const LaunchFindings& findings) {
  Coverage out;
  const auto live = live_steps(candidate.forward, candidate.kernels);
  const LeftWork work = left_work(reference, candidate);
  out.copying = copies_of_others(work.candidate, findings.copies);
  const auto earns_nothing = [&](int step) {
    return std::ranges::count(findings.idle, step) + std::ranges::count(out.copying, step) > 0;
  };
  for (size_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    const Step& step = candidate.forward.steps[i];
    if (std::holds_alternative<Launch>(step)) {
      out.launches_alive += earns_nothing(static_cast<int>(i)) ? 0 : 1;
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
