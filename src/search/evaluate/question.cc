#include "search/evaluate/question.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "ops/operator.h"
#include "program/python/python_text.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

bool changes_nothing(const Program& program) {
  return std::ranges::all_of(program.steps, [](const Step& step) {
    const auto* call = std::get_if<AtenCall>(&step);
    return call && call->mutated.empty();
  });
}

bool is_contiguous(const Value& value) { return value.strides == contiguous_strides(value.shape); }

// The strides of dimensions of one element do not matter.
bool lies_like_its_shape(const Value& value) {
  const std::vector<int64_t> expected = contiguous_strides(value.shape);
  for (size_t d = 0; d < expected.size(); ++d) {
    if (value.shape[d] > 1 && value.strides[d] != expected[d]) return false;
  }
  return true;
}

Value permuted(const Value& value, const std::vector<int64_t>& order) {
  Value out = value;
  for (size_t d = 0; d < order.size(); ++d) {
    out.shape[d] = value.shape[order[d]];
    out.strides[d] = value.strides[order[d]];
  }
  return out;
}

// Returns the order of dimensions in which the value is contiguous: its own order, or one in which
// two dimensions change places. Nothing if there is no such order.
std::optional<std::vector<int64_t>> order_in_memory(const Value& value) {
  std::vector<int64_t> order(value.shape.size());
  std::iota(order.begin(), order.end(), 0);
  const auto fits = [&] { return lies_like_its_shape(permuted(value, order)); };
  if (fits()) return order;
  for (const bool of_one_too : {false, true}) {
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t j = i + 1; j < order.size(); ++j) {
        if (!of_one_too && std::min(value.shape[i], value.shape[j]) == 1) continue;
        std::swap(order[i], order[j]);
        if (fits()) return order;
        std::swap(order[i], order[j]);
      }
    }
  }
  std::ranges::stable_sort(
      order, [&](int64_t a, int64_t b) { return value.strides[a] > value.strides[b]; });
  if (fits()) return order;
  return {};
}

Arg integers(const std::vector<int64_t>& numbers) {
  ArgList out;
  for (int64_t number : numbers) out.push_back(Arg{number});
  return Arg{std::move(out)};
}

// A view that puts the dimensions into this order: as a call, and as Python on a tensor.
struct Reordering {
  // The Python text of an order that changes nothing is empty.
  explicit Reordering(const std::vector<int64_t>& order) {
    std::vector<int64_t> moved;
    for (size_t d = 0; d < order.size(); ++d) {
      if (order[d] != static_cast<int64_t>(d)) moved.push_back(static_cast<int64_t>(d));
    }
    if (moved.empty()) return;
    if (moved.size() == 2) {
      call.op = "aten.transpose.int";
      call.args = {{"dim0", Arg{moved[0]}}, {"dim1", Arg{moved[1]}}};
      python = ".transpose(" + std::to_string(moved[0]) + ", " + std::to_string(moved[1]) + ")";
      return;
    }
    call.op = "aten.permute.default";
    call.args = {{"dims", integers(order)}};
    for (int64_t d : order) python += (python.empty() ? "" : ", ") + std::to_string(d);
    python = ".permute(" + python + ")";
  }
  AtenCall call;
  std::string python;
};

std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> out(order.size());
  for (size_t d = 0; d < order.size(); ++d) out[order[d]] = static_cast<int64_t>(d);
  return out;
}

bool broadcasts_to(const Value& operand, const Value& result) {
  if (operand.shape.size() > result.shape.size()) return false;
  const size_t missing = result.shape.size() - operand.shape.size();
  for (size_t d = 0; d < operand.shape.size(); ++d) {
    if (operand.shape[d] != 1 && operand.shape[d] != result.shape[missing + d]) return false;
  }
  return true;
}

class Rewriting {
 public:
  explicit Rewriting(Program& program) : program_(program) {
    for (size_t k = 0; k < program.inputs.size(); ++k) arguments_.push_back(name(k));
  }

  void tell_operands_apart() {
    for (Step& step : program_.steps) {
      std::map<ValueId, int> reads;
      for_each_value(step, [&](ValueId& id) {
        if (reads[id]++ > 0 && is_argument(id)) id = another(id);
      });
    }
  }

  // If the fragment is a single pointwise operator with a result that is not contiguous, all
  // dimensions are put in the order in which the result is.
  void order_like_result() {
    if (program_.steps.size() != 1) return;
    const auto& call = std::get<AtenCall>(program_.steps[0]);
    const OperatorRow* row = find_operator(call.op);
    const std::vector<ValueId> made = step_defines(call);
    if (!row || row->cls != OpClass::kPointwise || made.size() != 1) return;
    Value& asked = program_.values[made[0]];
    const Value result = asked;
    const auto order = order_in_memory(result);
    if (is_contiguous(result) || result.offset != 0 || !order) return;
    for (size_t k = 0; k < program_.inputs.size(); ++k) {
      const Value& operand = program_.values[program_.inputs[k]];
      if (!broadcasts_to(operand, result) || shares_memory_with_argument(k)) return;
    }
    for (size_t k = 0; k < program_.inputs.size(); ++k) {
      Value& operand = program_.values[program_.inputs[k]];
      if (operand.shape.empty()) continue;
      while (operand.shape.size() < order->size()) {  // as unsqueeze(0) does
        operand.strides.insert(operand.strides.begin(), operand.shape[0] * operand.strides[0]);
        operand.shape.insert(operand.shape.begin(), 1);
        arguments_[k] += ".unsqueeze(0)";
      }
      operand = permuted(operand, *order);
      arguments_[k] += Reordering(*order).python;
    }
    asked = permuted(result, *order);
    asked.strides = contiguous_strides(asked.shape);
    back_ = permuted(asked, inverse(*order)).strides == result.strides
                ? Reordering(inverse(*order)).python
                : ".as_strided(" + python_tuple(result.shape) + ", " +
                      python_tuple(result.strides) + ")";
  }

  void lay_out_like_shapes() {
    std::vector<Step> views;
    for (size_t k = 0; k < program_.inputs.size(); ++k) {
      const ValueId id = program_.inputs[k];
      Value& value = program_.values[id];
      if (shares_memory_with_argument(k) || (value.offset != 0 && has_views(k))) continue;
      value.offset = 0;  // an argument points to its first element
      if (is_contiguous(value)) continue;
      const auto order = order_in_memory(value);
      if (!order) continue;
      if (Reordering(*order).python.empty()) {
        value.strides = contiguous_strides(value.shape);
        continue;
      }
      Value like_its_shape = permuted(value, *order);
      like_its_shape.strides = contiguous_strides(like_its_shape.shape);
      program_.values.push_back(std::move(like_its_shape));
      const ValueId argument = static_cast<ValueId>(program_.values.size()) - 1;
      AtenCall view = Reordering(inverse(*order)).call;
      view.args["self"] = Arg{ValueRef{argument}};
      view.results = {id};
      views.emplace_back(std::move(view));
      program_.inputs[k] = argument;
      arguments_[k] += Reordering(*order).python;
    }
    program_.steps.insert(program_.steps.begin(), views.begin(), views.end());
  }

  // Returns the question's arguments, as Python expressions of the fragment's arguments.
  const std::vector<std::string>& arguments() const { return arguments_; }
  // Returns the method call that turns the question's result into the fragment's; empty if they are
  // the same.
  const std::string& back() const { return back_; }

 private:
  static std::string name(size_t k) { return "a" + std::to_string(k); }

  bool is_argument(ValueId id) const {
    return std::ranges::find(program_.inputs, id) != program_.inputs.end();
  }
  bool shares_memory_with_argument(size_t k) const {
    const int storage = program_.values[program_.inputs[k]].storage;
    return std::ranges::count_if(program_.inputs, [&](ValueId id) {
             return program_.values[id].storage == storage;
           }) > 1;
  }
  bool has_views(size_t k) const {
    const int storage = program_.values[program_.inputs[k]].storage;
    return std::ranges::count(program_.values, storage, &Value::storage) > 1;
  }
  ValueId another(ValueId id) {
    const auto k = std::ranges::find(program_.inputs, id) - program_.inputs.begin();
    program_.inputs.push_back(add_value(program_, program_.values[id]));
    arguments_.push_back(arguments_[k]);
    return program_.inputs.back();
  }

  Program& program_;
  std::vector<std::string> arguments_;
  std::string back_;
};

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

}  // namespace

Question question_of(const Task& fragment) {
  Question out{fragment, ""};
  if (!changes_nothing(fragment.forward)) return out;
  Rewriting rewriting(out.task.forward);
  rewriting.tell_operands_apart();
  rewriting.order_like_result();
  rewriting.lay_out_like_shapes();
  std::vector<std::string> own;
  for (size_t k = 0; k < fragment.forward.inputs.size(); ++k)
    own.push_back("a" + std::to_string(k));
  if (rewriting.arguments() == own && rewriting.back().empty()) return out;
  for (size_t k = own.size(); k < rewriting.arguments().size(); ++k) {
    out.task.arguments.push_back({{"in", k}});
    out.task.source.parameters.push_back("a" + std::to_string(k));
  }
  // Another class of this name would take its place in the class's own super(ModelNew, self).
  out.adapter = "\n\n\n_asked = ModelNew.forward\n\n\ndef _forward(self, " + joined(own) +
                "):\n    out = _asked(self, " + joined(rewriting.arguments()) +
                ")\n    return out" + rewriting.back() + "\n\n\nModelNew.forward = _forward\n";
  return out;
}

}  // namespace kw
