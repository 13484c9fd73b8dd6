#include "search/question.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "program/transform.h"

namespace kw {
namespace {

bool changes_nothing(const Program& program) {
  return std::ranges::all_of(program.steps, [](const Step& step) {
    const auto* call = std::get_if<AtenCall>(&step);
    return call && call->mutated.empty();
  });
}

bool is_contiguous(const Value& value) { return value.strides == contiguous_strides(value.shape); }

// But for dimensions of one element, which lie anywhere.
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

// The order of its dimensions in which `lies`; two that change places where that will do. Nothing
// where there is none.
template <class Lies>
std::optional<std::vector<int64_t>> order_in_memory(const Value& value, const Lies& lies) {
  std::vector<int64_t> order(value.shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = i + 1; j < order.size(); ++j) {
      std::swap(order[i], order[j]);
      if (lies(permuted(value, order))) return order;
      std::swap(order[i], order[j]);
    }
  }
  std::ranges::stable_sort(
      order, [&](int64_t a, int64_t b) { return value.strides[a] > value.strides[b]; });
  if (lies(permuted(value, order))) return order;
  return {};
}

// Results lie as operands do, their dimensions of one element too: that a transposition says it all
// is tried first.
std::optional<std::vector<int64_t>> order_in_memory(const Value& value) {
  if (const auto exactly = order_in_memory(value, is_contiguous)) return exactly;
  return order_in_memory(value, lies_like_its_shape);
}

Arg integers(const std::vector<int64_t>& numbers) {
  ArgList out;
  for (int64_t number : numbers) out.push_back(Arg{number});
  return Arg{std::move(out)};
}

// A view that puts the dimensions into this order: as a call, and as Python of a tensor.
struct Reordering {
  explicit Reordering(const std::vector<int64_t>& order) {
    std::vector<int64_t> moved;
    for (size_t d = 0; d < order.size(); ++d) {
      if (order[d] != static_cast<int64_t>(d)) moved.push_back(static_cast<int64_t>(d));
    }
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

int fresh_storage(const Program& program) {
  int last = -1;
  for (const Value& value : program.values) last = std::max(last, value.storage);
  return last + 1;
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

  void lay_out_like_shapes() {
    std::vector<Step> views;
    for (size_t k = 0; k < program_.inputs.size(); ++k) {
      const ValueId id = program_.inputs[k];
      Value& value = program_.values[id];
      if (is_contiguous(value) || value.offset != 0 || shares_memory(k)) continue;
      const auto order = order_in_memory(value);
      if (!order) continue;
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

  // What the question's arguments are of the fragment's.
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  static std::string name(size_t k) { return "a" + std::to_string(k); }

  bool is_argument(ValueId id) const {
    return std::ranges::find(program_.inputs, id) != program_.inputs.end();
  }
  bool shares_memory(size_t k) const {
    const int storage = program_.values[program_.inputs[k]].storage;
    return std::ranges::count_if(program_.inputs, [&](ValueId id) {
             return program_.values[id].storage == storage;
           }) > 1;
  }
  ValueId another(ValueId id) {
    const auto k = std::ranges::find(program_.inputs, id) - program_.inputs.begin();
    Value copy = program_.values[id];
    copy.storage = fresh_storage(program_);
    program_.values.push_back(std::move(copy));
    program_.inputs.push_back(static_cast<ValueId>(program_.values.size()) - 1);
    arguments_.push_back(arguments_[k]);
    return program_.inputs.back();
  }

  Program& program_;
  std::vector<std::string> arguments_;
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
  rewriting.lay_out_like_shapes();
  std::vector<std::string> own;
  for (size_t k = 0; k < fragment.forward.inputs.size(); ++k)
    own.push_back("a" + std::to_string(k));
  if (rewriting.arguments() == own) return out;
  for (size_t k = own.size(); k < rewriting.arguments().size(); ++k) {
    out.task.arguments.push_back({{"in", k}});
    out.task.source.parameters.push_back("a" + std::to_string(k));
  }
  out.adapter = "\n\n\n_Asked = ModelNew\n\n\nclass ModelNew(_Asked):\n    def forward(self, " +
                joined(own) + "):\n        return super().forward(" +
                joined(rewriting.arguments()) + ")\n";
  return out;
}

}  // namespace kw
