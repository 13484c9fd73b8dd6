// The loop-level form of a fragment: what the teacher's families schedule and print.
//
// A Graph is a straight-line list of nodes, each a function of the fragment's axes: loads of
// inputs, pointwise expressions, reductions over axes, matrix products. Views between an input and
// its use are folded into the strides of loads. Composite operators (softmax, norms, variance) are
// already taken apart. Registers hold `Node::dtype`: fp32 for half types, every other type as it
// is. Everything here is a plain value, owned by the caller.
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

// A dimension that a load walks by a computed index: it adds `stride` times the value of an
// operand. The index moves by `step` with most steps of `along`, which only models of memory
// traffic use
// (`along` -1: nothing is known).
struct Gathered {
  Stride stride;
  AxisId along = -1;
  int64_t step = 0;
};

// kWindow folds a small window, whose axes no loop of a family walks. It is written as loops of
// constants (tl.static_range) wherever its value is used, and fuses like a pointwise node.
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
// kMax and kMin skip NaN, as tl.max does, and are for values without NaN or whose NaN shows anyway.
// kMaximum and kMinimum return NaN if there is one, as PyTorch's amax and max do.
enum class ReduceOp { kSum, kMax, kMin, kProd, kMaximum, kMinimum, kLogAddExp };

// One spatial dimension of a convolution: position `out` of the result reads position
// out * stride - padding + kernel * dilation of the input. Transposed, it reads the position whose
// multiple by stride is out + padding - kernel * dilation, if there is one. Outside of the input
// are zeros. Dimensions of size 1 have no axes.
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
  std::string name;               // hint for the kernel's variable; two nodes may have the same
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
  // conditions. If one is false, nothing is read and the value is `other`.
  std::vector<Gathered> gathered;
  std::string other;  // kLoad: Triton literal; empty for zero

  ReduceOp reduce = ReduceOp::kSum;  // kReduce; kScan; kWindow: kSum or kMaximum
  Axes axes;                  // kReduce, kWindow: folded; kMatmul: contracted; kCount: counted;
                              // kIndex: row-major index over these; kScan: scanned
                              // kConvolution: input channels and positions, kernel
  Axes varies;                // leaves it depends on, sorted
  std::vector<ConvDim> conv;  // kConvolution
};

// A tensor that kernels write. It is a result of the fragment, the new contents of an argument that
// the fragment overwrites, or scratch memory. A later kernel reads scratch memory as one of its
// inputs, and may read a result too.
struct Output {
  int node = -1;
  ValueId value = -1;         // of Graph::program
  std::vector<Piece> pieces;  // strides of the result tensor
  std::string name;           // "out0", to the host and to kernels
  int target = -1;            // input that is overwritten with it, or that it is; -1: a result
  ValueId holds = -1;         // the fragment's value that it is; -1: it is part of one
};

// The candidates for the first position of an extremum {1} of {0}: the index {2} if {0} holds it,
// otherwise the number of elements {3}. Families know them by these expressions.
inline constexpr const char* kPositionOfReal =
    "tl.where(({0} == {1}) | ({0} != {0}), {2}, {3}).to(tl.int32)";
inline constexpr const char* kPositionOfInteger = "tl.where({0} == {1}, {2}, {3}).to(tl.int32)";

// Returns whether a node is exp({0}). It is the device's fast instruction if the largest results
// are those of arguments near zero (softmax), and exact for large ones too if it is the operator.
bool is_exponential(const Node& node);

// The axes are together this dimension of an input.
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
  // The fragment's forward program; scratch memory follows its inputs.
  Program program;
  std::vector<Output> outputs;  // the fragment's results in their order, then the others
  int inputs = 0;               // number of arguments; inputs from there on are scratch memory,
  std::vector<std::string> memory_names;    // called so
  std::map<AxisId, std::string> size_text;  // leaf -> host expression of its size ("a0.shape[1]")
  std::vector<SizeOrigin> origins;          // what size_text is made from (extents.h)
  std::vector<PooledSize> pooled;
  std::vector<std::string> notes;  // one line a fused operator, for comments
  // A product's reductions are over tiles of `part_columns` columns, and this axis counts the tiles
  // (two_stages.h); -1: over whole rows.
  AxisId part = -1;
  int64_t part_columns = 0;
};

// Returns a tensor's name to the host and to kernels: "a0" for an argument, the output's name for
// scratch memory.
std::string tensor_name(const Graph& graph, int input);
// Numbers the outputs, and names loads after tensors.
void number_outputs(Graph& graph);
// Names loads after tensors again, once names of outputs have changed.
void name_loads(Graph& graph);

Axes window_axes(const Graph& graph);       // those that kWindow nodes fold, sorted
DType register_type(DType dtype);           // float16, bfloat16 -> float32
std::string_view triton_name(DType dtype);  // "tl.float32"

// An access of a tensor in leaves: numeric stride and the host's expression for it.
struct LeafStride {
  AxisId axis = 0;
  int64_t stride = 0;
  std::string text;
};
// Returns an access in leaves. `tensor` is the host's name of the tensor, `strides` its recorded
// strides.
std::vector<LeafStride> leaf_strides(const Graph& graph, const std::vector<Piece>& pieces,
                                     const std::string& tensor,
                                     const std::vector<int64_t>& strides);
int64_t stride_value(const Graph& graph, const Stride& stride, const std::vector<int64_t>& strides);
std::string stride_text(const Graph& graph, const Stride& stride, const std::string& tensor);

// Returns the product of the sizes of some leaves as host code: "a0.shape[0] * a0.shape[1]".
std::string size_text(const Graph& graph, const Axes& leaves);
// Returns what a kernel calls a stride of `tensor` whose host code is `text`: "a0_stride_1" for
// "a0.stride(1)", "a0_outer_1" for a multiple of that. The numbers are those of dimensions, so that
// kernel and call can be read and written without counting.
std::string stride_name(const std::string& tensor, const std::string& text);

}  // namespace kw::teacher
