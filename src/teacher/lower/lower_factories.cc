// Constants and ranges: values without memory.
#include <cmath>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// Gives the result filled with a number.
void give_filled(Builder& b, Call& call, double value) {
  const Value& result = call.result_value();
  Tensor t = b.constant(literal(value, register_type(result.dtype)), result.dtype);
  call.set_result(0, expanded(b, std::move(t), result.shape));
}

void lower_zeros(Builder& b, Call& call) { give_filled(b, call, 0); }
void lower_ones(Builder& b, Call& call) { give_filled(b, call, 1); }

void lower_full(Builder& b, Call& call) { give_filled(b, call, call.number("fill_value", 0)); }
void lower_fill(Builder& b, Call& call) { give_filled(b, call, call.number("value", 0)); }
void lower_scalar_tensor(Builder& b, Call& call) { give_filled(b, call, call.number("s", 0)); }

void lower_constant(Builder& b, Call& call) {
  const Arg* data = call.arg("data");
  const ArgList* list = data ? std::get_if<ArgList>(&data->v) : nullptr;
  if (!list || list->size() != 1) throw Refusal{"a constant tensor of several elements"};
  const Value& result = call.result_value();
  Tensor t = b.constant(call.literal((*list)[0], register_type(result.dtype)), result.dtype);
  t.dims.resize(result.shape.size());
  call.set_result(0, std::move(t));
}

void lower_arange(Builder& b, Call& call) {
  const Value& result = call.result_value();
  const double start = call.number("start", 0), step = call.number("step", 1);
  if (!is_integral(result.dtype) || start != std::trunc(start) || step != std::trunc(step)) {
    throw Refusal{"a range that is not of integers"};
  }
  const Tensor line = expanded(b, b.constant("0", DType::kInt32), result.shape);
  const Tensor index = b.index_along(line, {0});
  const std::string type(triton_name(result.dtype));
  const std::string from = start == 0 ? "" : " + " + literal(start, result.dtype);
  const std::string by = step == 1 ? "" : " * " + literal(step, result.dtype);
  call.set_result(0, b.pointwise("arange", "{0}.to(" + type + ")" + by + from, {index},
                                 {DType::kInt32}, result.dtype));
}

// The contents of memory that was never written are unknown, so zeros are as good as any.
constexpr LoweringRule kFactoryRules[] = {
    {"aten.empty.memory_format", lower_zeros},
    {"aten.empty_like.default", lower_zeros},
    {"aten.new_empty.default", lower_zeros},
    {"aten.new_zeros.default", lower_zeros},
    {"aten.zero_.default", lower_zeros},
    {"aten.zeros.default", lower_zeros},
    {"aten.zeros_like.default", lower_zeros},
    {"aten.new_ones.default", lower_ones},
    {"aten.ones.default", lower_ones},
    {"aten.ones_like.default", lower_ones},
    {"aten.full.default", lower_full},
    {"aten.full_like.default", lower_full},
    {"aten.new_full.default", lower_full},
    {"aten.fill_.Scalar", lower_fill},
    {"aten.scalar_tensor.default", lower_scalar_tensor},
    {"kernelwright.constant.default", lower_constant},
    {"aten.arange.default", lower_arange},
    {"aten.arange.start", lower_arange},
    {"aten.arange.start_step", lower_arange},
};

}  // namespace

std::span<const LoweringRule> factory_rules() { return kFactoryRules; }

}  // namespace kw::teacher
