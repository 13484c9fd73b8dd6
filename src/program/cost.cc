#include "program/cost.h"

#include <algorithm>

#include "ops/operator.h"

namespace kw {
namespace {

const Value* tensor_arg(const Program& program, const AtenCall& call,
                        std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    const Arg* arg = call.find(name);
    if (arg && arg->is_value()) return &program.values.at(arg->value());
  }
  return nullptr;
}

int64_t last_dim(const Value& value) { return value.shape.empty() ? 1 : value.shape.back(); }

// Each matrix of weights meets each row of the input once: its time steps and its batch.
double recurrent_multiply_adds(const Program& program, const AtenCall& call, double results) {
  const Value* input = tensor_arg(program, call, {"input"});
  if (!input) return results;
  const int64_t width = std::max<int64_t>(last_dim(*input), 1);
  double weights = 0;
  const auto add = [&](const Arg& arg) {
    if (!arg.is_value()) return;
    const Value& value = program.values.at(arg.value());
    if (value.shape.size() == 2) weights += static_cast<double>(value.numel());
  };
  if (const Arg* params = call.find("params")) {
    if (const auto* list = std::get_if<ArgList>(&params->v)) {
      for (const Arg& item : *list) add(item);
    }
  }
  for (const char* name : {"w_ih", "w_hh"}) {
    if (const Arg* arg = call.find(name)) add(*arg);
  }
  return static_cast<double>(input->numel() / width) * weights;
}

// Multiply-adds of the classes whose work is not proportional to their elements: a matrix product
// does K per result element, a convolution the filter's window, attention two products.
double multiply_adds(const Program& program, const AtenCall& call, OpClass cls, const Value& out) {
  const double results = static_cast<double>(out.numel());
  if (cls == OpClass::kMatmul) {
    // The contracted size is the last dimension of the left operand.
    const Value* left = tensor_arg(program, call, {"input", "mat1", "batch1", "mat", "self"});
    return left ? results * static_cast<double>(last_dim(*left)) : results;
  }
  if (cls == OpClass::kConv) {
    const Value* weight = tensor_arg(program, call, {"weight"});
    if (!weight || weight->shape.empty() || weight->shape[0] == 0) return results;
    // Transposed: each element of the input meets all of the filters of its channel.
    const Arg* transposed = call.find("transposed");
    const Value* input = tensor_arg(program, call, {"input"});
    if (transposed && transposed->v == decltype(Arg::v)(true) && input) {
      return static_cast<double>(input->numel()) *
             static_cast<double>(weight->numel() / weight->shape[0]);
    }
    return results * static_cast<double>(weight->numel() / weight->shape[0]);
  }
  if (cls == OpClass::kRecurrent) return recurrent_multiply_adds(program, call, results);
  const Value* query = tensor_arg(program, call, {"query"});
  const Value* key = tensor_arg(program, call, {"key"});
  if (!query || !key || key->shape.size() < 2) return results;
  return static_cast<double>(query->numel()) *
         static_cast<double>(key->shape[key->shape.size() - 2]);
}

}  // namespace

double bag_elements(const Program& program, const AtenCall& call) {
  const Value* indices = tensor_arg(program, call, {"indices"});
  const Value* table = tensor_arg(program, call, {"weight"});
  if (!indices || !table || !tensor_arg(program, call, {"offsets"})) return 0;
  return static_cast<double>(indices->numel()) * static_cast<double>(last_dim(*table));
}

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  bytes += other.bytes;
  return *this;
}

bool fills_memory(const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  return row && (row->cls == OpClass::kFactory || call->op.starts_with("aten.fill_.") ||
                 call->op == "aten.zero_.default");
}

Cost step_cost(const Program& program, const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  if (!call) return {};
  const OperatorRow* row = find_operator(call->op);
  if (row) row = &work_row(*row);
  if ((row && row->cls == OpClass::kView) || call->results.empty()) return {};
  // Memory that is only reserved costs nothing. Memory that is filled is written, not read.
  const bool fills = fills_memory(step);
  if (row && row->cls == OpClass::kFactory && call->op.find("empty") != std::string::npos)
    return {};

  Cost cost;
  int64_t elements = 0;
  for (ValueId id : fills ? std::vector<ValueId>{} : step_reads(step, {})) {
    cost.bytes += static_cast<double>(program.values.at(id).bytes());
    elements = std::max(elements, program.values.at(id).numel());
  }
  const Value* first = nullptr;
  for (ValueId id : step_defines(step)) {
    if (!first) first = &program.values.at(id);
    cost.bytes += static_cast<double>(program.values.at(id).bytes());
    elements = std::max(elements, program.values.at(id).numel());
  }
  if (!first || fills) return cost;
  if (!row) {  // opaque: at least this
    cost.flops = static_cast<double>(elements);
    return cost;
  }
  const bool products = row->cls == OpClass::kMatmul || row->cls == OpClass::kConv ||
                        row->cls == OpClass::kAttention || row->cls == OpClass::kRecurrent;
  const double taken = bag_elements(program, *call);
  cost.flops = row->flops * (products    ? multiply_adds(program, *call, row->cls, *first)
                             : taken > 0 ? taken
                                         : static_cast<double>(elements));
  return cost;
}

Cost program_cost(const Program& program) {
  Cost total;
  for (const Step& step : program.steps) total += step_cost(program, step);
  return total;
}

bool runs_on_cpu(const Task& task) {
  constexpr double kMostFlops = 1e11;
  const auto launches = [](const Program& program) {
    return std::ranges::any_of(
        program.steps, [](const Step& step) { return std::holds_alternative<Launch>(step); });
  };
  return !launches(task.derive) && !launches(task.forward) &&
         program_cost(task.forward).flops <= kMostFlops;
}

}  // namespace kw
