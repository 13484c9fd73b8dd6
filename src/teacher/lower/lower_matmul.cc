// Matrix products. A product with a single row or column is a reduction: memory bounds its time,
// and tensor cores are of no use to it.
#include <algorithm>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// Returns x [..., m, k] times y [..., k, n] as a sum of products over k.
Tensor dot(Builder& b, const Tensor& x, const Tensor& y) {
  Tensor left = x, right = y;  // [..., m, 1, k] and [..., 1, n, k]
  left.dims.insert(left.dims.end() - 1, 1, {});
  std::swap(right.dims[y.rank() - 2], right.dims[y.rank() - 1]);
  right.dims.insert(right.dims.end() - 2, 1, {});
  const Tensor product = b.pointwise("product", "{0} * {1}", {left, right}, register_type(x.dtype));
  return b.reduce("dot", ReduceOp::kSum, product, {product.rank() - 1}, false);
}

// Returns the same as one node.
Tensor tiled_product(Builder& b, const Tensor& x, const Tensor& y) {
  const int m = x.rank() - 2, n = y.rank() - 1;
  Node node;
  node.kind = NodeKind::kMatmul;
  node.name = "product";
  node.dtype = register_type(x.dtype);
  node.stored = x.dtype;
  node.operands = {x.node, y.node};
  node.axes = x.axes(m + 1);
  // Batches walk together from the right.
  const int batches = std::max(m, n - 1);
  Tensor out;
  out.dims.resize(batches + 2);
  for (int d = 0; d < batches; ++d) {
    const int dx = m - batches + d, dy = n - 1 - batches + d;
    const bool in_x = dx >= 0 && !x.dims[dx].empty(), in_y = dy >= 0 && !y.dims[dy].empty();
    if (in_x && in_y && !b.axes().unify(x.axes(dx), y.axes(dy))) {
      throw Refusal{"a product of these batches"};
    }
    if (in_x || in_y) out.dims[d] = in_x ? x.dims[dx] : y.dims[dy];
  }
  out.dims[batches] = x.dims[m];
  out.dims[batches + 1] = y.dims[n];
  out.node = b.add_node(std::move(node));
  return out;
}

// Returns x [..., m, k] times y [..., k, n]; either may be a vector, as in torch.matmul.
Tensor contract(Builder& b, Tensor x, Tensor y) {
  x = b.use(std::move(x));
  y = b.use(std::move(y));
  if (x.dtype != y.dtype || !is_floating(x.dtype)) throw Refusal{"a product of these dtypes"};
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if (x.rank() == 0 || y.rank() == 0) throw Refusal{"a product of scalars"};
  if (row) x.dims.insert(x.dims.begin(), 1, {});
  if (column) y.dims.emplace_back();
  const int m = x.rank() - 2, n = y.rank() - 1;
  if (!b.axes().unify(x.axes(m + 1), y.axes(n - 1))) throw Refusal{"a product of these shapes"};
  int64_t rows = b.extent(x, m);
  if (y.rank() == 2) rows = b.numel(x) / b.extent(x, m + 1);  // y is shared: batches are rows
  const bool thin = rows == 1 || b.extent(y, n) == 1 || b.extent(y, n - 1) == 1;
  Tensor out = thin ? dot(b, x, y) : tiled_product(b, x, y);
  if (column) out.dims.pop_back();
  if (row) out.dims.erase(out.dims.end() - (column ? 1 : 2));
  out.dtype = x.dtype;
  b.note_layout(out.axes());
  return out;
}

Tensor biased(Builder& b, Tensor product, Tensor bias) {
  const DType dtype = product.dtype;
  return b.pointwise("biased", "{0} + {1}", {std::move(product), std::move(bias)}, dtype);
}

Tensor times_number(Builder& b, Tensor t, double factor) {
  if (factor == 1) return t;
  const DType dtype = t.dtype;
  return b.pointwise("scaled", "{0} * " + literal(factor, register_type(dtype)), {t}, dtype);
}

// Gives beta * self + alpha * x y.
void give_added_product(Builder& b, Call& call, const char* x, const char* y) {
  Tensor out = contract(b, call.operand(x), call.operand(y));
  out = times_number(b, std::move(out), call.number("alpha", 1));
  const double beta = call.number("beta", 1);
  if (beta != 0) out = biased(b, std::move(out), times_number(b, call.operand("self"), beta));
  call.set_result(0, std::move(out));
}

void lower_addmm(Builder& b, Call& call) { give_added_product(b, call, "mat1", "mat2"); }
void lower_baddbmm(Builder& b, Call& call) { give_added_product(b, call, "batch1", "batch2"); }
void lower_addmv(Builder& b, Call& call) { give_added_product(b, call, "mat", "vec"); }

void lower_mm(Builder& b, Call& call) {
  call.set_result(0, contract(b, call.operand("self"), call.operand("mat2")));
}

void lower_matmul(Builder& b, Call& call) {
  call.set_result(0, contract(b, call.operand("self"), call.operand("other")));
}

void lower_dot(Builder& b, Call& call) {
  call.set_result(0, contract(b, call.operand("self"), call.operand("tensor")));
}

void lower_linear(Builder& b, Call& call) {
  Tensor weight = call.operand("weight");
  if (weight.rank() > 1) std::swap(weight.dims[weight.rank() - 1], weight.dims[weight.rank() - 2]);
  Tensor out = contract(b, call.operand("input"), std::move(weight));
  if (call.present("bias")) out = biased(b, std::move(out), call.operand("bias"));
  call.set_result(0, std::move(out));
}

constexpr LoweringRule kMatmulRules[] = {
    {"aten.addmm", lower_addmm},   {"aten.addmv", lower_addmv}, {"aten.baddbmm", lower_baddbmm},
    {"aten.bmm", lower_mm},        {"aten.dot", lower_dot},     {"aten.linear", lower_linear},
    {"aten.matmul", lower_matmul}, {"aten.mm", lower_mm},       {"aten.vdot", lower_matmul},
};

}  // namespace

std::span<const LoweringRule> matmul_rules() { return kMatmulRules; }

}  // namespace kw::teacher
