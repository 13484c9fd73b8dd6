// Fragment -> Graph. Walks the steps of a fragment's forward Program and writes each as loop-level
// nodes; views become index maps, composite operators their definitions. What it does not know it
// refuses (Refusal), and every result is checked against the recorded shape and dtype.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/operator.h"
#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// What is put in memory between kernels, so that what comes before and behind is written by itself.
struct Stored {
  bool reductions = false;   // what a reduction leaves, before other rows are made of it
  std::set<ValueId> values;  // results of steps; those of the fragment need no copy then
};

// Refusal when the fragment holds something the teacher cannot write.
Graph lower(const Task& task, const Stored& stored = {});

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

// What stands in place of the index along a dimension: an affine function of other axes that stays
// inside the dimension, or any index node.
struct Position {
  std::vector<std::pair<AxisId, int64_t>> terms;  // axis, factor
  int64_t start = 0;
  int node = -1;      // index node; then `terms` and `start` say nothing
  int guard = -1;     // condition node without which nothing may be read; -1: always inside
  AxisId along = -1;  // see Gathered
  int64_t step = 0;
};

class Lowering {
 public:
  // With `shared_uses` all uses of an input walk the same axes (x - x.mean()); without, each use
  // has its own until an operator brings them together (x + x.T).
  Lowering(const Task& task, bool shared_uses, const Stored& stored);
  Graph run();

 private:
  // lowering.cc: steps, uses, results
  void add_input(int index, const Value& value);
  void step(const AtenCall& call);
  void set_result(size_t index, Tensor tensor);
  int updated_argument(ValueId mutated) const;
  void update(ValueId mutated, Tensor t);
  void store_results(const AtenCall& call);
  std::optional<Output> stored_result(ValueId id);
  Tensor tensor(const Arg& arg);
  Tensor use(Tensor tensor);
  Tensor fresh_clone(Tensor tensor);
  void name_clones(const std::map<AxisId, AxisId>& clones);
  void add_outputs();
  Output output_of(const Tensor& t, ValueId value) const;
  void align_outputs();  // lower_positions.cc
  void rename_bound_axes();
  bool consistent(const AxisTable& axes) const;
  void finish();
  void merge_equal_nodes();
  void drop_dead_nodes();

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
  // Through memory, between two kernels; in a layout like this value's.
  Tensor materialized(Tensor t, const Value* like = nullptr);
  Axes reduced_in(const Tensor& t) const;
  Tensor put_apart(Tensor t);  // the same for what a reduction leaves, where that is wanted
  Tensor reduce_apart(const std::string& name, ReduceOp op, const Tensor& t,
                      const std::vector<int>& first, const std::vector<int>& rest);
  Tensor as_stored(Tensor t);  // rounded to its dtype, as PyTorch would hold it
  std::string literal(double value, DType dtype) const;
  std::string literal(const Arg& arg, DType dtype) const;

  // lower_views.cc
  bool view();
  bool only_restrides() const;
  std::vector<Piece> leaf_pieces(const Piece& piece) const;
  Tensor reshaped(Tensor t, const std::vector<int64_t>& shape);
  Tensor permuted(const Tensor& t, const std::vector<int>& order) const;
  Tensor sliced(const Tensor& t, int dim, int64_t start, int64_t step, int64_t length);
  Tensor expanded(Tensor t, const std::vector<int64_t>& shape);
  Tensor aligned(Tensor vector, int rank, int dim) const;  // a vector along one dimension of many
  bool split_views(const std::string& base);
  bool factory();

  // lower_positions.cc: values read at other positions than their own
  using Positions = std::map<AxisId, Position>;  // by the leaf whose index they replace
  void place(const Tensor& t, int dim, const Position& position, Positions& at);
  Tensor taken(Tensor t, const Positions& at, std::vector<std::vector<Piece>> dims);
  int substituted(int node, const Positions& at, std::map<int, int>& done);
  int substituted_load(int id, Node node, const Positions& at, bool changed);
  int product_or_dot(Node product);
  int substituted_index(int id, const Axes& axes, const Positions& at);
  static void add_guard(Node& load, int guard);
  int guarded(int node, int guard, std::map<int, int>& done);
  Axes free_axes(int node) const;
  int index_of(AxisId axis);  // as a node
  int position_index(const Position& position);
  // Expressions over index nodes: int32, or int64 when an operand is.
  int integer_node(const std::string& name, const std::string& expression,
                   std::vector<int> operands);
  int condition_node(const std::string& expression, std::vector<int> operands);
  int expression_node(const std::string& name, const std::string& expression,
                      std::vector<int> operands, std::vector<DType> types, DType dtype);
  Position ranged(std::vector<std::pair<AxisId, int64_t>> terms, int64_t start, int64_t size);
  Tensor selected(const std::vector<int>& guards, Tensor t, const std::string& otherwise);

  // lower_copies.cc
  bool copies();
  AxisId loop_of(int64_t size);  // -1 for one iteration
  static std::vector<Piece> pieces_of(AxisId axis);
  std::vector<Piece> joined(const std::vector<Tensor>& tensors, const std::vector<int>& dims);
  void concatenated(bool stacked);
  int part_at(const Tensor& part, int dim, AxisId axis, int place_of, int64_t start,
              const std::string& inside);
  void padded(const std::string& base);
  Tensor padded_by(Tensor t, const std::string& mode, const std::vector<int64_t>& pad,
                   const std::string& value);
  Position folded_back(const std::string& mode, AxisId axis, int64_t before, int64_t size);
  void rolled();
  Tensor flipped(const Tensor& t, const std::vector<int64_t>& dims);
  void turned();
  void repeated();
  void shuffled();

  // lower_lookups.cc
  bool lookups();
  Tensor index_operand(const Arg& arg, int64_t size, bool wraps);
  void looked_up(Tensor t, int dim);
  void indexed();
  void gather_along();
  void unfolded();
  void diagonal();
  void scattered_view();
  void embedded_diagonal();

  // lower_windows.cc
  struct Window;
  bool windows();
  bool is_used(ValueId value) const;
  std::vector<Window> windows_of(const Tensor& t, bool adaptive);
  Position tap(const Window& window, int64_t k);
  void pool(Tensor t, const std::vector<Window>& windows, bool largest, bool with_index);
  struct Extremum;
  void fold(Extremum& found, const Tensor& value, int place, const std::vector<int>& guards);
  std::vector<std::vector<Position>> taps_of(const std::vector<Window>& windows);
  Tensor unrolled(const Tensor& t, const std::vector<Window>& windows, bool largest, Tensor* index);
  Tensor walked(const Tensor& t, const std::vector<Window>& windows, bool largest, Tensor* index,
                bool folded);
  Tensor fold_window(ReduceOp op, Tensor t, const std::vector<int>& inner);
  Tensor divided(Tensor sum, const std::vector<Window>& windows);
  int plane_index(const std::vector<Window>& windows, const std::vector<Position>& positions);
  void columns_of_image();

  // lower_losses.cc
  bool loss(const std::string& base);
  void negative_likelihood();
  Tensor averaged(Tensor t);

  // lower_resampling.cc
  struct Sample;
  bool resampling();
  std::vector<Sample> samples(const std::string& how, int64_t size, int64_t out, AxisId axis,
                              double given_scale, bool align, DType type);
  int sampled(const Tensor& t, const std::vector<std::vector<Sample>>& dims, size_t next,
              const Positions& at, const std::vector<int>& guards = {});

  // lower_grids.cc
  bool grids(const std::string& base);
  void sampled_at_grid();
  std::vector<Sample> grid_samples(int coordinate, int64_t size, DType type);
  void affine_grid();
  Tensor coordinate(int64_t count, DType type);

  // lower_pointwise.cc
  bool elementwise();
  void table_expression(const OperatorRow& row);
  DType compute_type(const std::vector<std::string>& tensors,
                     const std::vector<std::string>& scalars) const;
  bool special_elementwise(const std::string& op);
  // lower_arithmetic.cc: pointwise formulas that depend on arguments
  bool arithmetic(const std::string& base);
  void rounded_quotient();
  void remainder(bool dividends_sign);
  void clamp_between_tensors();
  Tensor operand_or_number(std::string_view name);
  bool triangle(const std::string& base);

  // lower_reductions.cc
  bool reduction();
  Tensor mean_of(Tensor t, const std::vector<int>& dims, bool keepdim);
  Tensor centered_square_sum(const Tensor& t, const std::vector<int>& dims);
  void sum_or_product(const std::string& base);
  void variance(bool root, bool with_mean);
  void any_or_all(bool any);
  void log_sum_exp();
  void extremum(bool largest, bool with_index, bool index_only, size_t place = 0);
  void vector_norm(const std::string& order);
  bool softmax(const std::string& base);
  Tensor shifted_exp(const Tensor& t, int dim, Tensor* shifted);

  // lower_scans.cc
  bool scan(const std::string& base);
  Tensor scanned(const std::string& name, ReduceOp op, Tensor t, int dim);
  void running_extremum(bool largest);

  // lower_norms.cc
  bool norm(const std::string& base);
  void layer_norm();
  void rms_norm(bool with_statistics);
  void group_norm(int64_t groups);
  struct Statistics;
  Statistics statistics(const Tensor& x, const std::vector<int>& reduced);
  void batch_norm();
  void instance_norm();
  void channel_norm(const Tensor& x, const Tensor& mean, const Tensor& rstd);
  bool updates_running() const;
  void update_running(const std::string& name, const Tensor& statistic);
  Tensor normalized(const Tensor& x, const Tensor& mean, const Tensor& rstd);
  Tensor affine(Tensor y, const std::string& weight, const std::string& bias, int dim);

  // lower_matmul.cc
  bool matmul(const std::string& base);
  Tensor contract(Tensor a, Tensor b);

  // lower_convolution.cc
  bool convolution(const std::string& base);
  Tensor renamed(Tensor t, const std::vector<int>& dims);
  int renamed_node(int node, const std::map<AxisId, AxisId>& names, std::map<int, int>& done);
  Tensor convolve(Tensor x, Tensor w, const std::vector<ConvDim>& dims, int64_t groups);
  void settle_convolution(Node& node) const;
  static std::string convolution_key(const Node& node);
  const Task& task_;
  Program program_;  // with the scratch memory of graph_
  const Stored& stored_;
  bool shared_uses_;
  Graph graph_;
  const AtenCall* call_ = nullptr;
  int step_ = -1;  // call_'s
  std::map<ValueId, Tensor> values_;
  std::set<ValueId> stale_;        // overwritten in place since
  std::set<ValueId> overwritten_;  // by the current call, as far as it is lowered
  std::map<int, Tensor> updates_;  // input that is overwritten -> what it holds in the end
  std::map<ValueId, int> memory_;  // of stored_.values: the input that each is for later kernels
  std::vector<Axes> layouts_;      // axes of every value: none may hold one twice
};

}  // namespace kw::teacher
