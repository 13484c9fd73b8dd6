// The one table of operators. Everything that knows an operator by name is a column here: the
// recorder's allow-list, costs, numerics classes, aliveness, the teacher's expressions and
// families, docs/operators.md and the parity tests. Immutable after start; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

enum class OpClass {
  kPointwise,  // one result element from the same (broadcast) element of each operand
  kReduction,  // over `dim`, with `keepdim`
  kScan,       // running sums, products, extrema along `dim`: same shape
  kSort,       // order along a dim: sort, topk, searchsorted
  kSoftmax,    // softmax, log_softmax: over one dim, same shape
  kNorm,       // layer, rms, group, batch, instance norm
  kMatmul,     // linear, mm, bmm, addmm, matmul
  kConv,
  kPool,  // windows without weights: pooling, resampling
  kAttention,
  kRecurrent,  // lstm, gru, rnn: all layers and time steps
  kLoss,       // a pointwise formula of input and target, then a mean or a sum
  kView,       // no computation and no memory traffic: results alias the argument
  kCopy,       // moves elements: clone, contiguous, cat
  kFactory,    // makes a tensor from nothing: empty, zeros, full, arange
  kRandom,     // reads the generator
  kInit,       // in-place arithmetic that constructors use
};

enum class Recording { kWhole, kDecompose };

// Error budgets of the verdict, docs/numerics.md.
enum class Numerics {
  kExact,
  kRound,    // to the nearest integer: jumps in the middle of two, where near ties fall either way
  kCut,      // floor, ceil, trunc: jumps at integers
  kCompare,  // jumps where `self` is `other`, or 0 where there is no other
  kPointwise,
  kExponential,  // of large arguments, whose rounding the results multiply
  kNearOne,      // so, and the usual formula takes small results from numbers near one
  kReduction,
  kChoice,     // of integer results: where in `self` something stands; near ties fall either way
  kAnyChoice,  // the same where PyTorch promises no order of equal elements
  kMatmul,
  kAttention
};

struct OperatorRow {
  std::string_view name;    // "aten.add.Tensor"
  std::string_view schema;  // PyTorch's schema of the overload, from its parenthesis on
  OpClass cls;
  Recording recorded;
  Numerics numerics;
  double flops;  // per element of the larger of operands and result; for kMatmul per
                 // multiply-add
  // kPointwise: the Triton expression, with {arg} for operands and scalars by schema name. Operands
  // are tl tensors already converted to the compute type (fp32 for half types), the result is
  // converted to the result's dtype by the emitter. Empty where the teacher has no expression.
  std::string_view triton;
  // Integers in, integers out, the same in any order of sums: what a trial on integers asks of all
  // operators of a program. Not where a result depends on ties, or on which side of a threshold a
  // rounding falls.
  bool integers = false;
  // Of a fused operator: the steps that a program without it takes, by the names of their operators
  // less "aten.", each over the largest tensor of the call (of a product: over its result; of
  // attention: its scores; of a recurrent network: its gates; of distances: all differences).
  // ".Scalar" stands where the second operand is small. What is longest in use counts
  // (spelled_cost.h).
  std::string_view steps = {};
  // The arguments whose elements PyTorch asserts to be probabilities: on a GPU the device asserts
  // it, and is lost to the process where it is not so.
  std::string_view probabilities = {};
  // The argument that must be in order along its last dimension: PyTorch does not look, and what it
  // gives otherwise means nothing.
  std::string_view in_order = {};
};

std::span<const OperatorRow> operator_table();
const OperatorRow* find_operator(std::string_view name);  // nullptr when outside the table

// The row that says what an operator computes and what that costs: of one that works in place that
// of the operator without the underscore, where there is one ("aten.addmm_.default":
// "aten.addmm.default").
const OperatorRow& work_row(const OperatorRow& row);

std::string_view op_class_name(OpClass cls);
std::string_view recorded_name(Recording recorded);

// True of operators that tell NaN or infinities from numbers, which PyTorch names after them, and
// of those that prefer numbers.
bool asks_what_is_finite(const OperatorRow& row);

// True for classes that do arithmetic (coverage counts them as work left to PyTorch).
bool is_computing(OpClass cls);

// A schema taken apart.
struct SchemaArg {
  std::string name;
  std::string type;          // "Tensor", "Tensor?", "Scalar", "int[]", "bool", ...
  std::string default_text;  // empty when there is none
  bool kwarg_only = false;
  bool written = false;  // Tensor(a!)
};
struct Schema {
  std::vector<SchemaArg> args;
  std::vector<std::string> results;
};
const Schema& operator_schema(const OperatorRow& row);

}  // namespace kw
