#include "program/rewrite/least_cost.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "ops/operator.h"
#include "program/makers.h"
#include "program/rewrite/linear_map.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

// One matrix, or a batch of them, in a chain of products.
struct Factor {
  Value value;  // as it is multiplied: transposed if need be
  bool constant = false;
};

// A step of a chain, and the factors that it multiplies: from `first` up to `last`.
struct ChainStep {
  int first = 0, last = 0;
  double price = 0;
};

struct Chain {
  std::vector<Factor> factors;
  std::vector<ChainStep> steps;
};

// Returns a value as matrices: transposed if asked for, and a vector as one column.
Value as_matrices(Value value, bool is_turned) {
  if (value.shape.size() == 1) value.shape.push_back(1);
  const size_t rank = value.shape.size();
  if (is_turned) std::swap(value.shape[rank - 1], value.shape[rank - 2]);
  return value;
}

bool swaps_last_two(const AtenCall& call, size_t rank) {
  const auto last = static_cast<int64_t>(rank) - 1;
  if (call.op == "aten.t.default") return rank == 2;
  const auto from_front = [&](int64_t d) { return d < 0 ? d + last + 1 : d; };
  if (call.op == "aten.transpose.int") {
    const auto a = integers(call, "dim0", 1), b = integers(call, "dim1", 1);
    if (a.size() != 1 || b.size() != 1) return false;
    return std::minmax(from_front(a[0]), from_front(b[0])) == std::minmax(last - 1, last);
  }
  if (call.op != "aten.permute.default") return false;
  const auto dims = integers(call, "dims", 1);
  if (dims.size() != rank || rank < 2) return false;
  for (int64_t d = 0; d + 2 <= last; ++d) {
    if (from_front(dims[d]) != d) return false;
  }
  return from_front(dims[last]) == last - 1;
}

// Prices the steps of one Program.
class BestOrder {
 public:
  BestOrder(const Task& task, const StepPrice& price, double Cost::*measure)
      : task_(task), program_(task.forward), price_(price), measure_(measure) {
    for (ValueId id : program_.outputs) ++uses_[id];
    written_ = written_storages(program_, task.kernels);
    const size_t constants = task.state.size() + task.derive.outputs.size();
    for (size_t i = 0; i < program_.inputs.size() && i < constants; ++i) {
      if (!is_written(program_.inputs[i])) constant_.insert(program_.inputs[i]);
    }
    for (int i = 0; i < static_cast<int>(program_.steps.size()); ++i) read_step(i);
  }

  double run() {
    double total = 0;
    std::set<int> done;
    for (int i = static_cast<int>(program_.steps.size()); i-- > 0;) {
      if (done.count(i) || is_free(i)) continue;
      Chain chain;
      std::set<int> steps;
      if (product_at(i)) {
        add_product(i, false, chain, steps);  // its result may lie either way
        done.insert(steps.begin(), steps.end());
      }
      total += steps.size() > 1 ? chain_price(chain) : price(program_, program_.steps[i]);
    }
    return total - (measure_ == &Cost::bytes ? read_again() : 0);
  }

 private:
  struct Product {
    ValueId left, right;
    bool left_turned, right_turned;  // a vector on the left is a row
    bool gives_row;                  // its result is a vector, and a row
  };

  bool is_written(ValueId id) const { return written_.count(program_.values[id].storage) > 0; }

  void read_step(int i) {
    const Step& step = program_.steps[i];
    Step copy = step;
    for_each_value(copy, [&](ValueId& id) { ++uses_[id]; });
    for (ValueId id : step_defines(step)) makers_[id] = i;
    const auto* call = std::get_if<AtenCall>(&step);
    if (!call || !call->mutated.empty() || is_random(*call)) return;
    const std::vector<ValueId> reads = step_reads(step, task_.kernels);
    const bool follows = std::all_of(reads.begin(), reads.end(),
                                     [&](ValueId id) { return constant_.count(id) > 0; });
    for (ValueId id : step_defines(step)) {
      if (follows && !is_written(id)) constant_.insert(id);
    }
  }

  // Whether a step's results are given, or follow from the state.
  bool is_free(int i) const {
    const auto* call = std::get_if<AtenCall>(&program_.steps[i]);
    if (!call || call->find(kGiven)) return true;
    const std::vector<ValueId> made = step_defines(program_.steps[i]);
    return !made.empty() && std::all_of(made.begin(), made.end(),
                                        [&](ValueId id) { return constant_.count(id) > 0; });
  }

  double price(const Program& program, const Step& step) const {
    return price_(program, step).*measure_;
  }

  // A product of two tensors of matrices without a third addend.
  std::optional<Product> product_at(int i) const {
    const auto* call = std::get_if<AtenCall>(&program_.steps[i]);
    if (!call || call->results.size() != 1 || !call->mutated.empty()) return std::nullopt;
    const bool linear = call->op == "aten.linear.default";
    if (linear && !is_default(*call, "bias")) return std::nullopt;
    const bool matmul = call->op == "aten.matmul.default";
    const bool vector = call->op == "aten.mv.default";
    if (!linear && !matmul && !vector && call->op != "aten.mm.default" &&
        call->op != "aten.bmm.default") {
      return std::nullopt;
    }
    const Arg* left = call->find(linear ? "input" : "self");
    const Arg* right = call->find(linear ? "weight" : matmul ? "other" : vector ? "vec" : "mat2");
    if (!left || !right || !left->is_value() || !right->is_value()) return std::nullopt;
    for (ValueId id : {left->value(), right->value(), call->results[0]}) {
      if (id < 0 || program_.values[id].shape.empty() || is_written(id)) return std::nullopt;
    }
    const bool row = program_.values[left->value()].shape.size() == 1;
    const bool gives_vector = program_.values[call->results[0]].shape.size() == 1;
    const bool has_vector = row || program_.values[right->value()].shape.size() == 1;
    if (has_vector != gives_vector || (linear && has_vector)) return std::nullopt;
    return Product{left->value(), right->value(), row, linear, row && gives_vector};
  }

  void add_product(int i, bool is_turned, Chain& chain, std::set<int>& steps) {
    const Product product = *product_at(i);
    steps.insert(i);
    const int first = static_cast<int>(chain.factors.size());
    if (is_turned) {
      add_factor(product.right, !product.right_turned, chain, steps);
      add_factor(product.left, !product.left_turned, chain, steps);
    } else {
      add_factor(product.left, product.left_turned, chain, steps);
      add_factor(product.right, product.right_turned, chain, steps);
    }
    const double own = is_free(i) ? 0 : price(program_, program_.steps[i]);
    chain.steps.push_back({first, static_cast<int>(chain.factors.size()) - 1, own});
  }

  // Adds a value to a chain, or the chain that makes it if nothing else reads it.
  void add_factor(ValueId id, bool is_turned, Chain& chain, std::set<int>& steps) {
    Value value = as_matrices(program_.values[id], is_turned);
    while (uses_[id] == 1 && makers_.count(id) > 0) {
      const int maker = makers_.at(id);
      const auto* call = std::get_if<AtenCall>(&program_.steps[maker]);
      if (call && swaps_last_two(*call, program_.values[id].shape.size())) {
        id = call->find("self")->value();
        is_turned = !is_turned;
        continue;
      }
      const auto product = product_at(maker);
      if (!product) break;
      return add_product(maker, is_turned != product->gives_row, chain, steps);
    }
    chain.factors.push_back({std::move(value), constant_.count(id) > 0});
  }

  // Returns the price of the product of two values, and its value.
  double multiplied(const Value& left, const Value& right, Value& out) const {
    Program program;
    program.values = {left, right};
    out = left.shape.size() >= right.shape.size() ? left : right;
    out.shape[out.shape.size() - 2] = left.shape[left.shape.size() - 2];
    out.shape.back() = right.shape.back();
    program.values.push_back(out);
    for (int i = 0; i < 3; ++i) program.values[i].storage = i;
    return price(
        program,
        AtenCall{
            "aten.matmul.default", {{"self", {ValueRef{0}}}, {"other", {ValueRef{1}}}}, {2}, {}});
  }

  // Whether batches are of one shape, or a factor has none.
  static bool fits(const Chain& chain) {
    std::optional<std::vector<int64_t>> batch;
    for (const Factor& factor : chain.factors) {
      const std::vector<int64_t> own(factor.value.shape.begin(), factor.value.shape.end() - 2);
      if (own.empty()) continue;
      if (batch && *batch != own) return false;
      batch = own;
    }
    return true;
  }

  // The least price over all orders, by lengths of parts of the chain. A part of which a step is
  // given costs nothing, nor does a product of constants.
  double chain_price(const Chain& chain) const {
    double recorded = 0;
    std::map<std::pair<int, int>, double> steps;
    for (const ChainStep& step : chain.steps) {
      recorded += step.price;
      steps[{step.first, step.last}] = step.price;
    }
    if (!fits(chain)) return recorded;
    struct Part {
      Value value;
      bool constant = false;
      double price = 0;
    };
    const int count = static_cast<int>(chain.factors.size());
    std::map<std::pair<int, int>, Part> parts;
    for (int i = 0; i < count; ++i) {
      parts[{i, i}] = {chain.factors[i].value, chain.factors[i].constant, 0};
    }
    for (int length = 2; length <= count; ++length) {
      for (int i = 0; i + length <= count; ++i) {
        const std::pair<int, int> whole = {i, i + length - 1};
        std::optional<Part> best;
        for (int k = i; k < whole.second; ++k) {
          const Part &left = parts.at({i, k}), &right = parts.at({k + 1, whole.second});
          Part part;
          part.constant = left.constant && right.constant;
          const double product = multiplied(left.value, right.value, part.value);
          if (!part.constant) part.price = left.price + right.price + product;
          if (!best || part.price < best->price) best = part;
        }
        if (const auto step = steps.find(whole); step != steps.end() && step->second == 0) {
          best->price = 0;
        }
        parts[whole] = *best;
      }
    }
    return std::min(recorded, parts.at({0, count - 1}).price);
  }

  // Bytes of operands that several products read, but for the first time.
  double read_again() const {
    std::set<std::tuple<int, int64_t, int64_t>> read;
    double bytes = 0;
    for (int i = 0; i < static_cast<int>(program_.steps.size()); ++i) {
      const auto* call = std::get_if<AtenCall>(&program_.steps[i]);
      const OperatorRow* row = call ? find_operator(call->op) : nullptr;
      if (!row || is_free(i)) continue;
      const OpClass cls = work_row(*row).cls;
      if (cls != OpClass::kMatmul && cls != OpClass::kConv) continue;
      for (ValueId id : step_reads(*call, task_.kernels)) {
        const Value& value = program_.values[id];
        const bool first = read.insert({value.storage, value.offset, value.numel()}).second;
        if (!first && !constant_.count(id)) bytes += static_cast<double>(value.bytes());
      }
    }
    return bytes;
  }

  const Task& task_;
  const Program& program_;
  const StepPrice& price_;
  double Cost::*measure_;
  std::map<ValueId, int> uses_, makers_;
  std::set<int> written_;
  std::set<ValueId> constant_;
};

}  // namespace

double cost_in_best_order(const Task& task, const StepPrice& price, double Cost::*measure) {
  return std::max(0.0, BestOrder(task, price, measure).run());
}

}  // namespace kw
