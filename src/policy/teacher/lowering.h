// Fragment -> Graph. Walks the steps of a fragment's forward Program and writes each as loop-level
// nodes; views become index maps, composite operators their definitions. What it does not know it
// refuses (Refusal), and every result is checked against the recorded shape and dtype.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/operator.h"
#include "policy/teacher/loop_ir.h"

namespace kw::teacher {

// Refusal when the fragment holds something the teacher cannot write.
Graph lower(const Task& task);

// A value during lowering: a computed node, or a view of an input that becomes a load when used.
struct Tensor {
  int node = -1;
  int input = -1;
  DType dtype = DType::kFloat32;  // as PyTorch has it
  std::vector<std::vector<Piece>> dims;
  std::vector<OffsetTerm> offset;

  int rank() const { return static_cast<int>(dims.size()); }
  Axes axes(int dim) const;
  Axes axes() const;
};

class Lowering {
 public:
  // With `shared_uses` all uses of an input walk the same axes (x - x.mean()); without, each use
  // has its own until an operator brings them together (x + x.T).
  Lowering(const Task& task, bool shared_uses);
  Graph run();

 private:
  // lowering.cc: steps, uses, results
  void add_input(int index, const Value& value);
  void step(const AtenCall& call);
  void set_result(size_t index, Tensor tensor);
  void mark_mutated();
  Tensor tensor(const Arg& arg);
  Tensor use(Tensor tensor);
  Tensor fresh_clone(Tensor tensor);
  void add_outputs();
  void rename_bound_axes();
  bool consistent(const AxisTable& axes) const;
  void finish();
  void merge_equal_nodes();
  void drop_dead_nodes();
  void name_sizes();

  // lower_blocks.cc: arguments of the current call
  const Arg* arg(std::string_view name) const { return call_->find(name); }
  bool present(std::string_view name) const;
  Tensor operand(std::string_view name);
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<int> dims_argument(std::string_view name, int rank) const;
  const Value& result_value(size_t index = 0) const;
  int wrap(int64_t dim, int rank) const;

  // lower_blocks.cc: ways of making a node
  int add_node(Node node);
  int64_t extent(const Tensor& t, int dim) const;
  int64_t numel(const Tensor& t) const;
  // `expression` over operands {0} {1} ..., all converted to `dtype` first, broadcast together.
  Tensor pointwise(const std::string& name, const std::string& expression,
                   std::vector<Tensor> operands, DType dtype);
  Tensor pointwise(const std::string& name, const std::string& expression,
                   std::vector<Tensor> operands, std::vector<DType> operand_types, DType dtype);
  Tensor reduce(const std::string& name, ReduceOp op, Tensor t, const std::vector<int>& dims,
                bool keepdim);
  Tensor count(const Tensor& t, const std::vector<int>& dims);
  Tensor index_along(const Tensor& t, const std::vector<int>& dims);
  Tensor constant(const std::string& text, DType dtype);
  Tensor cast(const std::string& name, Tensor t, DType dtype);
  Tensor as_stored(Tensor t);  // rounded to its dtype, as PyTorch would hold it
  std::string literal(double value, DType dtype) const;
  std::string literal(const Arg& arg, DType dtype) const;

  // lower_views.cc
  bool view();
  std::vector<Piece> leaf_pieces(const Piece& piece) const;
  Tensor reshaped(Tensor t, const std::vector<int64_t>& shape);
  Tensor permuted(const Tensor& t, const std::vector<int>& order) const;
  Tensor sliced(const Tensor& t, int dim, int64_t start, int64_t step, int64_t length);
  int sliced_node(int node, AxisId leaf, const Piece& part, int64_t start,
                  std::map<int, int>& done);
  Tensor expanded(Tensor t, const std::vector<int64_t>& shape);
  Tensor aligned(Tensor vector, int rank, int dim) const;  // a vector along one dimension of many
  bool split_views(const std::string& base);
  bool factory();

  // lower_pointwise.cc
  bool elementwise();
  void table_expression(const OperatorRow& row);
  DType compute_type(const std::vector<std::string>& tensors,
                     const std::vector<std::string>& scalars) const;
  bool special_elementwise(const std::string& op);
  bool triangle(const std::string& base);

  // lower_reductions.cc
  bool reduction();
  Tensor mean_of(Tensor t, const std::vector<int>& dims, bool keepdim);
  Tensor centered_square_sum(const Tensor& t, const std::vector<int>& dims);
  void variance(bool root);
  void extremum(bool largest, bool with_index, bool index_only);
  void vector_norm();
  bool softmax(const std::string& base);
  Tensor shifted_exp(const Tensor& t, int dim, Tensor* shifted);

  // lower_norms.cc
  bool norm(const std::string& base);
  void layer_norm();
  void rms_norm(bool with_statistics);
  void group_norm(int64_t groups);
  void batch_norm(bool batch_statistics, const std::vector<int>& reduced);
  Tensor normalized(const Tensor& x, const Tensor& mean, const Tensor& rstd);
  Tensor affine(Tensor y, const std::string& weight, const std::string& bias, int dim);

  // lower_matmul.cc
  bool matmul(const std::string& base);
  Tensor contract(Tensor a, Tensor b);

  struct Origin {
    Axes axes;
    int input = 0, dim = 0;
  };

  const Task& task_;
  const Program& program_;
  bool shared_uses_;
  Graph graph_;
  const AtenCall* call_ = nullptr;
  std::map<ValueId, Tensor> values_;
  std::set<ValueId> stale_;      // overwritten in place since
  std::vector<Origin> origins_;  // dimensions of inputs, for naming sizes
  std::vector<Axes> layouts_;    // axes of every value: none may hold one twice
};

}  // namespace kw::teacher
