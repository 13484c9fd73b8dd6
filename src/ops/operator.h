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
  kRound,    // to the nearest integer: jumps halfway between two, where near ties go either way
  kCut,      // floor, ceil, trunc: jumps at integers
  kCompare,  // jumps where `self` is `other`, or 0 where there is no other
  kPointwise,
  kExponential,  // of large arguments: a result multiplies the rounding of its argument
  kNearOne,      // like kExponential; usual formulas take small results from numbers near one
  kReduction,
  kChoice,     // of integer results: an index into `self`; near ties go either way
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
  // are tl tensors already converted to the compute type (fp32 for half types). The emitter
  // converts the result to its dtype. Empty where a rule (teacher/lower/rules.h) writes it, or
  // nothing does.
  std::string_view triton;
  // Integers give integers, the same in any order of sums. A trial on integers needs this of all
  // operators of a program. False if a result depends on ties, or on the side of a threshold to
  // which something is rounded.
  bool integers = false;
  // For costs only (program/spelled_cost.h): the steps that a program without a fused operator
  // takes, as names of operators without "aten.". Each step runs over the largest tensor of the
  // call. For products this is the result, for attention the scores, for recurrent networks the
  // gates, and for distances all differences. ".Scalar" says that the second operand is small. If
  // an operator has several forms, the longest one in use counts.
  std::string_view steps = {};
  // The arguments whose elements PyTorch asserts to be probabilities. On a GPU the device asserts
  // it, and a failure costs the process its device.
  std::string_view probabilities = {};
  // The argument that must be sorted along its last dimension. PyTorch does not check it, and its
  // results mean nothing otherwise.
  std::string_view in_order = {};
};

std::span<const OperatorRow> operator_table();
const OperatorRow* find_operator(std::string_view name);  // nullptr when outside the table

// Operators outside of the table that a Program may call (opaque_operators.cc), sorted by name.
std::span<const std::string_view> opaque_operators();
bool is_opaque_operator(std::string_view name);

// Returns the row that says what an operator computes and what that costs. For an operator that
// works in place it is the row of the name without the underscore, if the table has it
// ("aten.addmm.default" for "aten.addmm_.default").
const OperatorRow& work_row(const OperatorRow& row);

std::string_view op_class_name(OpClass cls);
std::string_view recorded_name(Recording recorded);

// Returns whether an operator tells NaN or infinities from numbers, as isnan does, or prefers
// numbers to them.
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
