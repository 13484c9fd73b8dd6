#include "search/cover/roofline.h"

#include <algorithm>

#include "ops/operator.h"

namespace kw {
namespace {

double rate(OpClass cls, DType dtype, const DeviceProfile& profile) {
  const bool products =
      cls == OpClass::kMatmul || cls == OpClass::kConv || cls == OpClass::kAttention;
  if (dtype == DType::kFloat64) return profile.fp64_flops;
  if (products && dtype_bytes(dtype) == 2) return profile.half_flops;
  if (cls == OpClass::kConv) return profile.tf32_flops;
  return profile.fp32_flops;
}

}  // namespace

double step_seconds(const Program& program, const Step& step, const DeviceProfile& profile) {
  const Cost cost = step_cost(program, step);
  const auto* call = std::get_if<AtenCall>(&step);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  if (!call || (row && row->cls == OpClass::kView) || (cost.bytes == 0 && cost.flops == 0))
    return 0;
  const DType dtype = program.values.at(step_defines(step).front()).dtype;
  return std::max(cost.bytes / profile.bytes_per_second,
                  cost.flops / rate(row ? row->cls : OpClass::kPointwise, dtype, profile)) +
         profile.launch_seconds;
}

}  // namespace kw
