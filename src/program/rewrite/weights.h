// New weights for a Task: what its forward takes from state alone, computed on in float64, in
// `derive`, and handed back to forward as float32. So a new weight is rounded once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

// A number, or a value of `derive`.
using Term = Arg;

Arg int_list(const std::vector<int64_t>& items);

// What new weights are for. Those of a program that runs are float32. Of one that is only priced,
// shapes matter alone: then weights may be of any type, and lose digits.
enum class WeightUse { kRun, kPrice };

// Writes to the derive and forward Programs of a Task that outlives it.
class WeightMaker {
 public:
  explicit WeightMaker(Task& task, WeightUse use = WeightUse::kRun);

  bool is_priced() const { return use_ == WeightUse::kPrice; }
  // Returns whether new weights may be of this type: float32, or any that is priced.
  bool takes(DType dtype) const;
  // Returns whether a step of forward writes to a value's memory.
  bool is_written(ValueId forward_value) const;
  // Returns whether a value of forward follows from state alone, by views and arithmetic. Its type
  // is one that new weights may have, and no step of forward writes to its memory.
  bool is_constant(ValueId forward_value) const;
  // Returns whether a change of running statistics shows. Exported files look at PyTorch's version
  // counters, which batch norm in training does not raise when it updates them. But nn.BatchNorm
  // counts its batches in another buffer.
  bool is_counted(ValueId running_mean) const;
  // A constant of forward as a contiguous float64 value of derive.
  ValueId load(ValueId forward_value);
  // A value of derive, rounded to a type (float32), as an input of forward.
  ValueId store(ValueId id, DType dtype = DType::kFloat32);

  // Steps on float64 values of derive. The second operand broadcasts to the first.
  ValueId mul(ValueId a, const Term& b);
  ValueId add(ValueId a, const Term& b);
  ValueId reciprocal(ValueId a);
  ValueId rsqrt(ValueId a);
  ValueId view(ValueId a, const std::vector<int64_t>& shape);  // as many elements
  ValueId transposed(ValueId matrix);
  ValueId sum(ValueId a, const std::vector<int64_t>& dims, bool keepdim);
  ValueId mm(ValueId a, ValueId b);  // [m, k] times [k, n]
  ValueId zeros(int64_t count);
  const std::vector<int64_t>& shape(ValueId id) const { return task_.derive.values[id].shape; }

 private:
  ValueId hoist(ValueId forward_value);
  ValueId call(const std::string& op, std::map<std::string, Arg> args, std::vector<int64_t> shape,
               DType dtype = DType::kFloat64);

  Task& task_;
  const WeightUse use_;
  std::set<int> written_;          // storages of forward
  std::map<ValueId, int> makers_;  // of forward's values: the step
  std::map<ValueId, ValueId> hoisted_;
};

}  // namespace kw
