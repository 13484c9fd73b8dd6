// The graph of a fragment while it is made: tensors, and the few ways of making a node.
//
// Operators are lowered to calls of a Builder (teacher/lower); views.h and positions.h add what
// reads tensors in other shapes and at other positions. Every function throws Refusal for what
// cannot be written.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// A value during lowering: a computed node, or a view of an input that becomes a load when used.
struct Tensor {
  int node = -1;
  int input = -1;
  DType dtype = DType::kFloat32;  // the type that PyTorch gives it
  std::vector<std::vector<Piece>> dims;
  std::vector<OffsetTerm> offset;

  int rank() const { return static_cast<int>(dims.size()); }
  Axes axes(int dim) const;
  Axes axes() const;
};

class Builder {
 public:
  // With `shared_uses` all uses of an input walk the same axes (x - x.mean()). Without it, each use
  // has separate axes until an operator brings them together (x + x.T). With `reductions_apart` the
  // result of a reduction is stored in memory before other rows are made of it.
  Builder(const Program& program, bool shared_uses, bool reductions_apart);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  AxisTable& axes() { return graph_.axes; }
  const AxisTable& axes() const { return graph_.axes; }
  const Node& node(int id) const { return graph_.nodes[id]; }
  // The fragment's forward program, whose inputs end with the scratch memory of the graph.
  Program& program() { return graph_.program; }
  const Program& program() const { return graph_.program; }
  // Nodes that are added from now on belong to this step of the fragment.
  void begin_step(int step) { step_ = step; }

  int add_node(Node node);
  // Remembers the axes of a value: no axis may occur twice among their leaves in the end.
  void note_layout(Axes axes) { layouts_.push_back(std::move(axes)); }
  // Returns whether that holds if `axes` were the table.
  bool consistent(const AxisTable& axes) const;

  int64_t extent(const Tensor& t, int dim) const { return graph_.axes.size(t.axes(dim)); }
  int64_t numel(const Tensor& t) const { return graph_.axes.size(t.axes()); }
  // Returns a new axis, or -1 for a loop of one iteration.
  AxisId loop_of(int64_t size);
  // Returns a piece as leaves, each with a separate stride.
  std::vector<Piece> leaf_pieces(const Piece& piece) const;

  // Returns the tensor as a node: views of inputs become loads.
  Tensor use(Tensor t);
  // Returns `t` over new axes of the same sizes.
  Tensor fresh_clone(Tensor t);
  // Gives clones of leaves the names of the sizes of those leaves.
  void name_clones(const std::map<AxisId, AxisId>& clones);

  // Everywhere `name` is a hint for the name of the kernel's variable, and need not be unique.
  //
  // Returns `expression` over the operands {0} {1} ..., which are converted to `dtype` first (or
  // each to its operand type) and broadcast together.
  Tensor pointwise(const std::string& name, const std::string& expression,
                   std::vector<Tensor> operands, DType dtype);
  Tensor pointwise(const std::string& name, const std::string& expression,
                   std::vector<Tensor> operands, std::vector<DType> operand_types, DType dtype);
  Tensor constant(const std::string& text, DType dtype);
  // Returns a number as a scalar tensor of the register type `dtype`; `text` is its literal.
  Tensor scalar(const std::string& text, DType dtype);
  Tensor cast(const std::string& name, Tensor t, DType dtype);
  // Rounds `t` to its dtype, as PyTorch would hold it.
  Tensor as_stored(Tensor t);
  Tensor reduce(const std::string& name, ReduceOp op, Tensor t, const std::vector<int>& dims,
                bool keepdim);
  // Returns the number of elements that `dims` of `t` have together.
  Tensor count(const Tensor& t, const std::vector<int>& dims);
  // Returns the row-major index over `dims` of `t` (int32), a tensor of the rank of `t`.
  Tensor index_along(const Tensor& t, const std::vector<int>& dims);

  // Stores `t` in memory between two kernels, laid out like `like` if that is given.
  Tensor materialized(Tensor t, const Value* like = nullptr);
  // Does the same for what a reduction leaves, if reductions are to be stored.
  Tensor put_apart(Tensor t);
  Output output_of(const Tensor& t, ValueId value) const;

 private:
  Axes reduced_in(const Tensor& t) const;
  Tensor reduce_apart(const std::string& name, ReduceOp op, const Tensor& t,
                      const std::vector<int>& first, const std::vector<int>& rest);

  Graph graph_;
  bool shared_uses_, reductions_apart_;
  int step_ = -1;              // that nodes belong to
  std::vector<Axes> layouts_;  // axes of every value
};

// Returns a number as Triton code of a register type; Refusal for a fraction among integers.
std::string literal(double value, DType dtype);
// Returns the dimension that an axis is alone; none for one iteration (-1).
std::vector<Piece> pieces_of(AxisId axis);

}  // namespace kw::teacher
