#include "verify/coverage/least_cost.h"

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

// A diagonal matrix stands for a factor of each row or column, and ones for a sum or mean.
enum class FactorKind { kDense, kDiagonal, kOnes };

// One matrix, or a batch of them, in a chain of products; or what a part of a chain makes.
struct Factor {
  Value value;  // as it is multiplied: transposed if need be
  bool constant = false;
  FactorKind kind = FactorKind::kDense;
  double price = 0;
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
      add_step(i, false, chain, steps);  // a vector may lie either way
      done.insert(steps.begin(), steps.end());
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

  // Whether a step's results are given, follow from the state or are memory that is only filled.
  bool is_free(int i) const {
    const auto* call = std::get_if<AtenCall>(&program_.steps[i]);
    if (!call || call->find(kGiven) || fills_memory(*call)) return true;
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

  // A tensor of matrices times a number, or times a factor of each column or row.
  struct Scaling {
    ValueId matrices;
    bool of_rows, constant;
  };

  std::optional<Scaling> scaling_at(int i) const {
    const auto* call = std::get_if<AtenCall>(&program_.steps[i]);
    if (!call || call->results.size() != 1 || !call->mutated.empty()) return std::nullopt;
    const bool times = call->op == "aten.mul.Tensor" || call->op == "aten.mul.Scalar";
    const bool over = call->op == "aten.div.Tensor" || call->op == "aten.div.Scalar";
    if ((!times && !over) || !is_default(*call, "rounding_mode")) return std::nullopt;
    const Value& result = program_.values[call->results[0]];
    const size_t rank = result.shape.size();
    if (rank < 2 || is_written(call->results[0])) return std::nullopt;
    for (const auto& [one, two] : {std::pair("self", "other"), std::pair("other", "self")}) {
      if (over && one[0] == 'o') break;
      const Arg *matrices = call->find(one), *factor = call->find(two);
      if (!matrices || !factor || !matrices->is_value() || is_written(matrices->value()) ||
          program_.values[matrices->value()].shape != result.shape) {
        continue;
      }
      if (!factor->is_value()) return Scaling{matrices->value(), false, true};
      const Value& value = program_.values[factor->value()];
      const std::vector<int64_t>& shape = value.shape;
      const bool of_rows = shape.size() > 1 && value.numel() == shape[shape.size() - 2];
      const bool of_columns = value.numel() == 1 || value.numel() == shape.back();
      if (!of_rows && !of_columns) continue;
      return Scaling{matrices->value(), !of_columns, constant_.count(factor->value()) > 0};
    }
    return std::nullopt;
  }

  // A sum or mean over rows, columns or both, whose result only the rest of the program reads.
  struct Reduction {
    ValueId matrices;
    bool of_rows = false, of_columns = false;
  };

  std::optional<Reduction> reduction_at(int i) const {
    const auto* call = std::get_if<AtenCall>(&program_.steps[i]);
    if (!call || call->results.size() != 1 || !is_default(*call, "dtype")) return std::nullopt;
    const bool all = call->op == "aten.sum.default" || call->op == "aten.mean.default";
    if (!all && call->op != "aten.sum.dim_IntList" && call->op != "aten.mean.dim") {
      return std::nullopt;
    }
    Reduction out{call->find("self")->value()};
    const auto rank = static_cast<int64_t>(program_.values[out.matrices].shape.size());
    if (rank < 2 || (all && rank > 2) || is_written(out.matrices)) return std::nullopt;
    std::vector<int64_t> dims = integers(*call, "dim", 1);
    if (all) dims = {0, 1};
    for (int64_t d : dims) {
      if (d < 0) d += rank;
      if (d < rank - 2) return std::nullopt;
      (d == rank - 1 ? out.of_columns : out.of_rows) = true;
    }
    return out.of_rows || out.of_columns ? std::optional(out) : std::nullopt;
  }

  // Adds a step to a chain, and the steps before it, if it is one that a chain has.
  bool add_step(int i, bool is_turned, Chain& chain, std::set<int>& steps) {
    const int first = static_cast<int>(chain.factors.size());
    if (const auto product = product_at(i)) {
      steps.insert(i);
      add_product(*product, is_turned != product->gives_row, chain, steps);
    } else if (const auto scaling = scaling_at(i)) {
      steps.insert(i);
      add_beside(scaling->matrices, FactorKind::kDiagonal, scaling->constant,
                 scaling->of_rows != is_turned, scaling->of_rows == is_turned, is_turned, chain,
                 steps);
    } else if (const auto reduction = first == 0 ? reduction_at(i) : std::nullopt) {
      steps.insert(i);
      add_beside(reduction->matrices, FactorKind::kOnes, true, reduction->of_rows,
                 reduction->of_columns, false, chain, steps);
    } else {
      return false;
    }
    const double own = is_free(i) ? 0 : price(program_, program_.steps[i]);
    chain.steps.push_back({first, static_cast<int>(chain.factors.size()) - 1, own});
    return true;
  }

  // Adds matrices with a factor of a kind before them, behind them, or both.
  void add_beside(ValueId matrices, FactorKind kind, bool constant, bool before, bool behind,
                  bool is_turned, Chain& chain, std::set<int>& steps) {
    Value side = as_matrices(program_.values[matrices], is_turned);
    const int64_t rows = side.shape[side.shape.size() - 2], columns = side.shape.back();
    const bool diagonal = kind == FactorKind::kDiagonal;
    const auto add = [&](int64_t down, int64_t across) {
      side.shape = {down, across};
      chain.factors.push_back({side, constant, kind});
    };
    if (before) add(diagonal ? rows : 1, rows);
    add_factor(matrices, is_turned, chain, steps);
    if (behind) add(columns, diagonal ? columns : 1);
  }

  void add_product(const Product& product, bool is_turned, Chain& chain, std::set<int>& steps) {
    if (is_turned) {
      add_factor(product.right, !product.right_turned, chain, steps);
      add_factor(product.left, !product.left_turned, chain, steps);
    } else {
      add_factor(product.left, product.left_turned, chain, steps);
      add_factor(product.right, product.right_turned, chain, steps);
    }
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
      if (reduction_at(maker) || !add_step(maker, is_turned, chain, steps)) break;
      return;
    }
    chain.factors.push_back({std::move(value), constant_.count(id) > 0});
  }

  // Returns the product of two parts of a chain. The product of constants is made once.
  Factor multiplied(const Factor& left, const Factor& right) const {
    Factor out;
    out.constant = left.constant && right.constant;
    out.value = left.value.shape.size() >= right.value.shape.size() ? left.value : right.value;
    out.value.shape[out.value.shape.size() - 2] = left.value.shape[left.value.shape.size() - 2];
    out.value.shape.back() = right.value.shape.back();
    const bool thin = left.kind != FactorKind::kDense && right.kind != FactorKind::kDense;
    if (thin && left.kind == right.kind) out.kind = left.kind;
    if (out.constant) return out;
    out.price = left.price + right.price;
    if (thin) return out;  // a vector: hardly anything
    const Arg first{ValueRef{0}}, second{ValueRef{1}};
    Program program;
    program.values = {left.value, right.value, out.value};
    AtenCall call{"aten.matmul.default", {{"self", first}, {"other", second}}, {2}, {}};
    for (int i = 0; i < 2; ++i) {
      const FactorKind kind = i == 0 ? left.kind : right.kind;
      if (kind == FactorKind::kDiagonal) {
        call.op = "aten.mul.Tensor";
        program.values[i].shape = {program.values[i].shape.back()};
      } else if (kind == FactorKind::kOnes) {
        call = {"aten.sum.dim_IntList", {{"self", {ValueRef{1 - i}}}}, {2}, {}};
      }
    }
    for (int i = 0; i < 3; ++i) program.values[i].storage = i;
    out.price += price(program, call);
    return out;
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
    const int count = static_cast<int>(chain.factors.size());
    std::map<std::pair<int, int>, Factor> parts;
    for (int i = 0; i < count; ++i) parts[{i, i}] = chain.factors[i];
    for (int length = 2; length <= count; ++length) {
      for (int i = 0; i + length <= count; ++i) {
        const int last = i + length - 1;
        std::optional<Factor> best;
        for (int k = i; k < last; ++k) {
          const Factor part = multiplied(parts.at({i, k}), parts.at({k + 1, last}));
          if (!best || part.price < best->price) best = part;
        }
        const auto step = steps.find({i, last});
        if (step != steps.end() && step->second == 0) best->price = 0;
        parts[{i, last}] = *best;
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
