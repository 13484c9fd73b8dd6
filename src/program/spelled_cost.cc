#include "program/spelled_cost.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "ops/operator.h"

namespace kw {
namespace {

// The tensor that the steps of a fused operator run over.
struct Pass {
  double elements = 0, bytes = 0;
};

Pass pass_over(const Value& value) {
  return {static_cast<double>(value.numel()), static_cast<double>(value.bytes())};
}

Pass scaled_to(const Pass& pass, double elements) {
  return {elements, pass.elements > 0 ? pass.bytes / pass.elements * elements : 0};
}

bool is_product(OpClass cls) {
  return cls == OpClass::kMatmul || cls == OpClass::kConv || cls == OpClass::kAttention ||
         cls == OpClass::kRecurrent;
}

const OperatorRow* row_of(const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  return row ? &work_row(*row) : nullptr;
}

bool is_set(const AtenCall& call, const char* name) {
  const Arg* arg = call.find(name);
  return arg && arg->v == decltype(Arg::v)(true);
}

bool is_given(const AtenCall& call, const char* name) {
  const Arg* arg = call.find(name);
  return arg && arg->is_value();
}

const Value* largest(const Program& program, const Step& step) {
  const Value* out = nullptr;
  const auto look = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids) {
      const Value& value = program.values.at(id);
      if (!out || value.numel() > out->numel()) out = &value;
    }
  };
  look(step_reads(step, {}));
  look(step_defines(step));
  return out;
}

Cost cost_of_steps(std::string_view steps, const Pass& pass);

// One step: each operand is read, a result of the same size written.
Cost cost_of(const OperatorRow& row, const Pass& pass) {
  if (!row.steps.empty()) return cost_of_steps(row.steps, pass);
  double tensors = row.cls == OpClass::kReduction ? 0 : 1;
  for (const SchemaArg& arg : operator_schema(row).args) tensors += arg.type == "Tensor";
  return {row.flops * pass.elements, tensors * pass.bytes};
}

Cost cost_of_steps(std::string_view steps, const Pass& pass) {
  Cost total;
  std::istringstream names{std::string(steps)};
  for (std::string name; names >> name;) {
    if (const OperatorRow* row = find_operator("aten." + name)) total += cost_of(*row, pass);
  }
  return total;
}

// Returns the cost of a recurrent network's time steps. Each step reads the weights. Half of the
// rows of its matrices are gates, because the other half is for the state.
Cost recurrent_steps(const Program& program, const AtenCall& call, const OperatorRow& row,
                     const Value& input) {
  const size_t time_dim = is_set(call, "batch_first") ? 1 : 0;
  const bool cell = call.op.find("_cell") != std::string::npos;
  const double times =
      cell || input.shape.size() <= time_dim ? 1 : static_cast<double>(input.shape[time_dim]);
  const double width = input.shape.empty() ? 1 : static_cast<double>(input.shape.back());
  double gates = 0;
  Cost total;
  for (ValueId id : step_reads(Step(call), {})) {
    const Value& weight = program.values.at(id);
    if (weight.shape.size() != 2 || &weight == &input) continue;
    gates += static_cast<double>(weight.shape[0]) / 2;
    total.bytes += (times - 1) * static_cast<double>(weight.bytes());
  }
  const Pass pass = pass_over(input);
  total += cost_of_steps(row.steps, scaled_to(pass, gates * pass.elements / std::max(width, 1.0)));
  return total;
}

// What a product does beside its multiply-adds.
Cost beside_products(const Program& program, const AtenCall& call, const OperatorRow& row,
                     const Cost& fused) {
  const Pass result = pass_over(program.values.at(call.results.at(0)));
  if (row.cls == OpClass::kAttention) {
    const Value& query = program.values.at(call.find("query")->value());
    const double width = std::max<double>(static_cast<double>(query.shape.back()), 1);
    const Pass scores = scaled_to(pass_over(query), fused.flops / row.flops / width);
    Cost total = cost_of_steps(row.steps, scores);
    total.bytes += 2 * scores.bytes;  // between its two products
    if (is_given(call, "attn_mask") || is_set(call, "is_causal")) {
      total += cost_of_steps("add.Tensor", scores);
    }
    return total;
  }
  if (row.cls == OpClass::kRecurrent) {
    const Arg* input = call.find("input");
    if (!input || !input->is_value()) return {};
    return recurrent_steps(program, call, row, program.values.at(input->value()));
  }
  const bool bias_is_optional = row.schema.find("Tensor? bias") != std::string_view::npos;
  if (bias_is_optional && !is_given(call, "bias")) return {};
  return cost_of_steps(row.steps, result);
}

// Returns what the steps of a fused operator run over. Usually this is its largest tensor. For
// distances it is the differences of all pairs of points in each coordinate. For bags it is all
// rows that they take.
Pass pass_of_steps(const Program& program, const AtenCall& call, const Value& largest) {
  const Pass pass = pass_over(largest);
  if (is_given(call, "x1")) {
    const Value& points = program.values.at(call.find("x1")->value());
    const auto distances = static_cast<double>(program.values.at(call.results.at(0)).numel());
    return scaled_to(
        pass, distances * static_cast<double>(points.shape.empty() ? 1 : points.shape.back()));
  }
  const double taken = bag_elements(program, call);
  return taken > 0 ? scaled_to(pass, taken) : pass;
}

}  // namespace

bool has_products(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    const OperatorRow* row = row_of(step);
    return row && is_product(row->cls);
  });
}

Cost spelled_cost(const Program& program, const Step& step, bool products) {
  const Cost fused = step_cost(program, step);
  const OperatorRow* row = row_of(step);
  if (!row || fused.bytes == 0) return fused;
  const Value* value = largest(program, step);
  const auto& call = std::get<AtenCall>(step);
  Cost total;
  if (is_product(row->cls)) {
    total = fused;
    total += beside_products(program, call, *row, fused);
    if (products) total.bytes += 2 * scaled_to(pass_over(*value), fused.flops / row->flops).bytes;
  } else if (!row->steps.empty()) {
    const Pass pass = pass_of_steps(program, call, *value);
    total = cost_of_steps(row->steps, pass);
    if (is_given(call, "per_sample_weights")) total += cost_of_steps("mul.Tensor", pass);
    if (is_set(call, "training") || is_set(call, "use_input_stats")) {
      total += cost_of(*find_operator("aten.var_mean.correction"), pass_over(*value));
    }
  }
  return {std::max(total.flops, fused.flops), std::max(total.bytes, fused.bytes)};
}

}  // namespace kw
