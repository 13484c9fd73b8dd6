// Views: index maps, no arithmetic. Copies that keep every element where it is are views here.
#include <algorithm>
#include <numeric>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

void lower_identity(Builder&, Call& call) { call.set_result(0, call.operand("self")); }

void lower_conversion(Builder& b, Call& call) {
  call.set_result(0, b.cast("cast", call.operand("self"), call.result_value().dtype));
}

// The result's shape is recorded, so all reshaping operators are one operation.
void lower_reshape(Builder& b, Call& call) {
  call.set_result(0, reshaped(b, call.operand("self"), call.result_value().shape));
}

void lower_expand(Builder& b, Call& call) {
  call.set_result(0, expanded(b, call.operand("self"), call.result_value().shape));
}

// An as_strided is written only if it has the shape, offset and strides of its argument. Strides of
// dimensions of size 1 do not matter.
void lower_as_strided(Builder& b, Call& call) {
  const Arg* self = call.arg("self");
  if (!self || !self->is_value()) throw not_written(call);
  const Value &from = call.argument_value(*self), &to = call.result_value();
  bool same = from.shape == to.shape && from.offset == to.offset;
  for (size_t d = 0; same && d < to.shape.size(); ++d) {
    same = to.shape[d] == 1 || from.strides[d] == to.strides[d];
  }
  if (!same) throw not_written(call);
  lower_identity(b, call);
}

void lower_permute(Builder&, Call& call) {
  const Tensor t = call.operand("self");
  std::vector<int> order;
  for (int64_t d : call.integers("dims")) order.push_back(call.wrap(d, t.rank()));
  call.set_result(0, permuted(t, order));
}

// Gives `t` with two dimensions exchanged.
void give_transposed(Call& call, const Tensor& t, int first, int second) {
  std::vector<int> order(t.rank());
  std::iota(order.begin(), order.end(), 0);
  if (t.rank() > 1) std::swap(order[first], order[second]);
  call.set_result(0, permuted(t, order));
}

void lower_transpose(Builder&, Call& call) {
  const Tensor t = call.operand("self");
  const bool several = t.rank() > 1;
  give_transposed(call, t, several ? call.wrap(call.integer("dim0", 0), t.rank()) : 0,
                  several ? call.wrap(call.integer("dim1", 0), t.rank()) : 0);
}

void lower_t(Builder&, Call& call) { give_transposed(call, call.operand("self"), 0, 1); }

// Gives one index of a dimension as result `result`.
void give_selected(Builder& b, Call& call, size_t result, int64_t index) {
  const Tensor t = call.operand("self");
  const int dim = call.wrap(call.integer("dim", 0), t.rank());
  if (index < 0) index += b.extent(t, dim);
  Tensor part = sliced(b, t, dim, index, 1, 1);
  part.dims.erase(part.dims.begin() + dim);
  call.set_result(result, std::move(part));
}

void lower_select(Builder& b, Call& call) { give_selected(b, call, 0, call.integer("index", 0)); }

void lower_unbind(Builder& b, Call& call) {
  for (size_t i = 0; i < call.results(); ++i) {
    give_selected(b, call, i, static_cast<int64_t>(i));
  }
}

void lower_slice(Builder& b, Call& call) {
  const Tensor t = call.operand("self");
  const int dim = call.wrap(call.integer("dim", 0), t.rank());
  const int64_t size = b.extent(t, dim);
  int64_t start = call.integer("start", 0);
  if (start < 0) start += size;
  start = std::clamp<int64_t>(start, 0, size);
  const int64_t length = call.result_value().shape.at(dim);
  call.set_result(0, sliced(b, t, dim, start, call.integer("step", 1), length));
}

// The results are neighbouring parts of one dimension, which make up all of it.
void lower_split(Builder& b, Call& call) {
  const Tensor t = call.operand("self");
  const int dim = call.wrap(call.integer("dim", 0), t.rank());
  int64_t start = 0;
  for (size_t i = 0; i < call.results(); ++i) {
    const int64_t length = call.result_value(i).shape.at(dim);
    call.set_result(i, sliced(b, t, dim, start, 1, length));
    start += length;
  }
}

constexpr LoweringRule kViewRules[] = {
    {"aten.alias.default", lower_identity},      {"aten.clone.default", lower_identity},
    {"aten.contiguous.default", lower_identity}, {"aten.detach.default", lower_identity},
    {"aten._to_copy.default", lower_conversion}, {"aten._unsafe_view.default", lower_reshape},
    {"aten.flatten.using_ints", lower_reshape},  {"aten.reshape.default", lower_reshape},
    {"aten.squeeze.default", lower_reshape},     {"aten.squeeze.dim", lower_reshape},
    {"aten.squeeze.dims", lower_reshape},        {"aten.unflatten.int", lower_reshape},
    {"aten.unsqueeze.default", lower_reshape},   {"aten.view.default", lower_reshape},
    {"aten.view_as.default", lower_reshape},     {"aten.as_strided.default", lower_as_strided},
    {"aten.expand.default", lower_expand},       {"aten.expand_as.default", lower_expand},
    {"aten.permute.default", lower_permute},     {"aten.t.default", lower_t},
    {"aten.transpose.int", lower_transpose},     {"aten.select.int", lower_select},
    {"aten.unbind.int", lower_unbind},           {"aten.narrow.default", lower_slice},
    {"aten.slice.Tensor", lower_slice},          {"aten.chunk.default", lower_split},
    {"aten.split.Tensor", lower_split},          {"aten.split_with_sizes.default", lower_split},
};

}  // namespace

std::span<const LoweringRule> view_rules() { return kViewRules; }

}  // namespace kw::teacher
