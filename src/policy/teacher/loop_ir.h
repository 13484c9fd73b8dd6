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
#include "policy/teacher/axes.h"
#include "program/program.h"

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

enum class NodeKind { kLoad, kPointwise, kReduce, kMatmul, kCount, kIndex };
enum class ReduceOp { kSum, kMax, kMin, kProd };

struct Node {
  NodeKind kind = NodeKind::kPointwise;
  DType dtype = DType::kFloat32;  // of the registers
  std::string name;               // hint for the variable's name
  std::vector<int> operands;

  std::string expression;            // kPointwise: Triton, with {0} {1} ... for operands
  std::vector<DType> operand_types;  // kPointwise: register type each operand is converted to

  int input = -1;                  // kLoad: argument of the fragment
  DType stored = DType::kFloat32;  // kLoad: type in memory; kMatmul: type of the dot's operands
  std::vector<Piece> pieces;       // kLoad: in the order of the value's dimensions
  std::vector<OffsetTerm> offset;  // kLoad

  ReduceOp reduce = ReduceOp::kSum;  // kReduce
  Axes axes;                         // kReduce: reduced; kMatmul: contracted; kCount: counted;
                                     // kIndex: row-major index over these
  Axes varies;                       // leaves it depends on, sorted
};

struct Output {
  int node = -1;
  ValueId value = -1;         // of the fragment's forward program
  std::vector<Piece> pieces;  // strides of the result tensor
};

struct Graph {
  AxisTable axes;
  std::vector<Node> nodes;                  // topological order, no dead nodes
  std::vector<Output> outputs;              // in the order of the fragment's results
  int inputs = 0;                           // number of arguments
  std::map<AxisId, std::string> size_text;  // leaf -> host expression of its size ("a0.shape[1]")
  std::vector<std::string> notes;           // one line a fused operator, for comments
};

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

}  // namespace kw::teacher
