// The loop-level form of a fragment: what the teacher's families schedule and print.
//
// A Graph is a straight-line list of nodes, each a function of the fragment's axes: loads of inputs
// (with whatever view stood between input and use folded into strides), pointwise expressions,
// reductions over axes, matrix products. Composite operators (softmax, norms, variance) are already
// taken apart. Registers hold `Node::dtype`: fp32 for half types, every other type as it is.
// Plain values, owned by the caller.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/dtype.h"
#include "program/program.h"
#include "teacher/graph/axes.h"

namespace kw::teacher {

// Why a fragment is not written; caught inside the teacher and never seen by callers of propose().
struct Refusal {
  std::string reason;
};

// Elements between neighbours along an axis: stride(dim) * factor * sizes of `times`, of the tensor
// that the stride belongs to. `factor` 0 marks an axis along which the tensor does not vary.
struct Stride {
  int dim = -1;
  int64_t factor = 1;
  Axes times;
};

struct Piece {
  AxisId axis = 0;
  Stride stride;
};

struct OffsetTerm {
  int64_t index = 0;
  Stride stride;
};

// A dimension that a load walks by an index of its own making: `stride` times the value of an
// operand. The index moves by `step` with most steps of `along`; that only feeds models of memory
// traffic (`along` -1: nothing is known).
struct Gathered {
  Stride stride;
  AxisId along = -1;
  int64_t step = 0;
};

// kWindow folds a small window, whose axes no loop of a family walks: it is written as loops of
// constants (tl.static_range) wherever its value is asked for, and fuses like anything pointwise.
enum class NodeKind {
  kLoad,
  kPointwise,
  kReduce,
  kMatmul,
  kCount,
  kIndex,
  kScan,
  kConvolution,
  kWindow
};
// kMax and kMin pass NaN over, kMaximum and kMinimum return it where there is one.
enum class ReduceOp { kSum, kMax, kMin, kProd, kMaximum, kMinimum, kLogAddExp };

// One spatial dimension of a convolution: position `out` of the result reads position
// out * stride - padding + kernel * dilation of the input or, transposed, the position whose
// multiple by stride is out + padding - kernel * dilation, where there is one. What lies outside
// of the input is zero. Dimensions of size 1 have no axes.
struct ConvDim {
  Axes in, out, kernel;
  int64_t in_size = 1, out_size = 1, kernel_size = 1;
  int64_t stride = 1, padding = 0, dilation = 1;
  int64_t grown = 0;  // added to the extent at both ends together: padding, output padding
  bool transposed = false;

  bool leaves_input() const { return transposed || grown > 0; }  // zeros are read
};

struct Node {
  NodeKind kind = NodeKind::kPointwise;
  DType dtype = DType::kFloat32;  // of the registers
  std::string name;               // hint for the variable's name
  int step = -1;                  // of the fragment, which it belongs to
  ValueId value = -1;             // of the fragment, the first that it is; -1: it is part of one
  std::vector<int> operands;

  std::string expression;            // kPointwise: Triton, with {0} {1} ... for operands
  std::vector<DType> operand_types;  // kPointwise: register type each operand is converted to

  int input = -1;                  // kLoad: argument of the fragment
  DType stored = DType::kFloat32;  // kLoad: type in memory; products: of the operands
  std::vector<Piece> pieces;       // kLoad: in the order of the value's dimensions
  std::vector<OffsetTerm> offset;  // kLoad
  // kLoad: the first operands are integer indices, one for each of these. Operands after them are
  // conditions: where one is false nothing is read, and the value is `other`.
  std::vector<Gathered> gathered;
  std::string other;  // kLoad: Triton literal; empty for zero

  ReduceOp reduce = ReduceOp::kSum;  // kReduce; kScan; kWindow: kSum or kMaximum
  Axes axes;                  // kReduce, kWindow: folded; kMatmul: contracted; kCount: counted;
                              // kIndex: row-major index over these; kScan: scanned
                              // kConvolution: input channels and positions, kernel
  Axes varies;                // leaves it depends on, sorted
  std::vector<ConvDim> conv;  // kConvolution
};

// A tensor that kernels write: a result of the fragment, the new contents of an argument that the
// fragment overwrites, or scratch memory that a later kernel reads as an input of its own. A result
// may be read so as well.
struct Output {
  int node = -1;
  ValueId value = -1;         // of Graph::program
  std::vector<Piece> pieces;  // strides of the result tensor
  std::string name;           // "out0", to the host and to kernels
  int target = -1;            // input that is overwritten with it, or that it is; -1: a result
  ValueId holds = -1;         // the fragment's value that it is; -1: it is part of one
};

// The candidates for the first position of an extremum {1} of {0}: the index {2} where {0} holds
// it, the number of elements {3} elsewhere. Families know them by these expressions.
inline constexpr const char* kPositionOfReal =
    "tl.where(({0} == {1}) | ({0} != {0}), {2}, {3}).to(tl.int32)";
inline constexpr const char* kPositionOfInteger = "tl.where({0} == {1}, {2}, {3}).to(tl.int32)";

// exp({0}): as the device's fast instruction, which is as good where the largest results are those
// of arguments near zero (softmax), or exact for large ones too (the operator).
bool is_exponential(const Node& node);

// A dimension of an input, which the axes are together.
struct SizeOrigin {
  Axes axes;
  int input = 0, dim = 0;
};

// The extent of a pooled dimension: (in + grown) // stride.
struct PooledSize {
  AxisId out = -1;
  Axes in;
  int64_t grown = 0, stride = 1;
};

struct Graph {
  AxisTable axes;
  std::vector<Node> nodes;  // topological order, no dead nodes
  // The fragment's forward program; scratch memory stands behind its inputs.
  Program program;
  std::vector<Output> outputs;  // the fragment's results in their order, then the others
  int inputs = 0;               // number of arguments; inputs from there on are scratch memory,
  std::vector<std::string> memory_names;    // called so
  std::map<AxisId, std::string> size_text;  // leaf -> host expression of its size ("a0.shape[1]")
  std::vector<SizeOrigin> origins;          // what size_text is made from (sizes.h)
  std::vector<PooledSize> pooled;
  std::vector<std::string> notes;  // one line a fused operator, for comments
  // A product's reductions over columns are over tiles of `part_columns` of them each, which this
  // axis counts (two_stages.h); -1: over whole rows.
  AxisId part = -1;
  int64_t part_columns = 0;
};

// A tensor has one name, to the host and to kernels: "a0" for an argument, that of the output for
// scratch memory.
std::string tensor_name(const Graph& graph, int input);
// Numbers the outputs, and calls what is loaded by the names of tensors.
void number_outputs(Graph& graph);
// To be called when names of outputs have changed.
void name_loads(Graph& graph);

Axes window_axes(const Graph& graph);       // that kWindow nodes fold, sorted
DType register_type(DType dtype);           // float16, bfloat16 -> float32
std::string_view triton_name(DType dtype);  // "tl.float32"

// An access of a tensor in leaves: numeric stride and the host's expression for it.
struct LeafStride {
  AxisId axis = 0;
  int64_t stride = 0;
  std::string text;
};
// `tensor` is the host's name of it, `strides` its recorded strides.
std::vector<LeafStride> leaf_strides(const Graph& graph, const std::vector<Piece>& pieces,
                                     const std::string& tensor,
                                     const std::vector<int64_t>& strides);
int64_t stride_value(const Graph& graph, const Stride& stride, const std::vector<int64_t>& strides);
std::string stride_text(const Graph& graph, const Stride& stride, const std::string& tensor);

// Product of the sizes of some leaves as host code: "a0.shape[0] * a0.shape[1]".
std::string size_text(const Graph& graph, const Axes& leaves);
// What a kernel calls a stride of `tensor` whose host code is `text`: "a0_stride_1" for
// "a0.stride(1)", "a0_outer_1" for a multiple of that. Numbers are the dimensions', so that kernel
// and call can be read, and written, without counting.
std::string stride_name(const std::string& tensor, const std::string& text);

}  // namespace kw::teacher
