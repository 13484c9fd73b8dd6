// Matrix products. One with a single row or column is a reduction of a product, as it is bound by
// memory and has no use for tensor cores.
#include "teacher/lower/lowering.h"

namespace kw::teacher {

bool Lowering::matmul(const std::string& base) {
  auto scaled = [&](Tensor t, std::string_view name) {
    const double factor = number(name, 1);
    if (factor == 1) return t;
    const DType dtype = t.dtype;
    return pointwise("scaled", "{0} * " + literal(factor, register_type(dtype)), {t}, dtype);
  };
  auto added = [&](Tensor bias, Tensor product) {
    const DType dtype = product.dtype;
    return pointwise("biased", "{0} + {1}", {std::move(product), std::move(bias)}, dtype);
  };
  auto transposed = [&](Tensor t) {
    std::vector<int> order(t.rank());
    for (int d = 0; d < t.rank(); ++d) order[d] = d;
    if (t.rank() > 1) std::swap(order[t.rank() - 1], order[t.rank() - 2]);
    return permuted(t, order);
  };
  Tensor out;
  if (base == "aten.mm") {
    out = contract(operand("self"), operand("mat2"));
  } else if (base == "aten.bmm") {
    out = contract(operand("self"), operand("mat2"));
  } else if (base == "aten.matmul") {
    out = contract(operand("self"), operand("other"));
  } else if (base == "aten.dot") {
    out = contract(operand("self"), operand("tensor"));
  } else if (base == "aten.vdot") {
    out = contract(operand("self"), operand("other"));
  } else if (base == "aten.linear") {
    out = contract(operand("input"), transposed(operand("weight")));
    if (present("bias")) out = added(operand("bias"), std::move(out));
  } else if (base == "aten.addmm" || base == "aten.baddbmm" || base == "aten.addmv") {
    if (base == "aten.addmm") out = contract(operand("mat1"), operand("mat2"));
    if (base == "aten.baddbmm") out = contract(operand("batch1"), operand("batch2"));
    if (base == "aten.addmv") out = contract(operand("mat"), operand("vec"));
    out = scaled(std::move(out), "alpha");
    if (number("beta", 1) != 0) out = added(scaled(operand("self"), "beta"), std::move(out));
  } else {
    return false;
  }
  set_result(0, std::move(out));
  return true;
}

// a [..., m, k] times b [..., k, n], a vector on either side as torch.matmul has it.
Tensor Lowering::contract(Tensor a, Tensor b) {
  a = use(std::move(a));
  b = use(std::move(b));
  if (a.dtype != b.dtype || !is_floating(a.dtype)) throw Refusal{"a product of these dtypes"};
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (a.rank() == 0 || b.rank() == 0) throw Refusal{"a product of scalars"};
  if (row) a.dims.insert(a.dims.begin(), 1, {});
  if (column) b.dims.emplace_back();
  const int m = a.rank() - 2, n = b.rank() - 1;
  if (!graph_.axes.unify(a.axes(m + 1), b.axes(n - 1))) throw Refusal{"a product of these shapes"};
  const DType type = register_type(a.dtype);
  int64_t rows = extent(a, m);
  if (b.rank() == 2) rows = numel(a) / extent(a, m + 1);  // b is shared: batches are rows

  Tensor out;
  if (rows == 1 || extent(b, n) == 1 || extent(b, n - 1) == 1) {
    // [..., m, n, k] summed over k.
    Tensor left = a, right = b;
    left.dims.insert(left.dims.end() - 1, 1, {});
    std::swap(right.dims[n - 1], right.dims[n]);
    right.dims.insert(right.dims.end() - 2, 1, {});
    const Tensor product = pointwise("product", "{0} * {1}", {left, right}, type);
    out = reduce("dot", ReduceOp::kSum, product, {product.rank() - 1}, false);
  } else {
    Node node;
    node.kind = NodeKind::kMatmul;
    node.name = "product";
    node.dtype = type;
    node.stored = a.dtype;
    node.operands = {a.node, b.node};
    node.axes = a.axes(m + 1);
    // Batches walk together from the right.
    const int batches = std::max(m, n - 1);
    out.dims.resize(batches + 2);
    for (int d = 0; d < batches; ++d) {
      const int da = m - batches + d, db = n - 1 - batches + d;
      const bool in_a = da >= 0 && !a.dims[da].empty(), in_b = db >= 0 && !b.dims[db].empty();
      if (in_a && in_b && !graph_.axes.unify(a.axes(da), b.axes(db))) {
        throw Refusal{"a product of these batches"};
      }
      if (in_a || in_b) out.dims[d] = in_a ? a.dims[da] : b.dims[db];
    }
    out.dims[batches] = a.dims[m];
    out.dims[batches + 1] = b.dims[n];
    out.node = add_node(std::move(node));
  }
  if (column) out.dims.pop_back();
  if (row) out.dims.erase(out.dims.end() - (column ? 1 : 2));
  out.dtype = a.dtype;
  layouts_.push_back(out.axes());
  return out;
}

}  // namespace kw::teacher
