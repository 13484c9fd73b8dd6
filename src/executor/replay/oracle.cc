#include "executor/replay/oracle.h"

#include <map>

#include "executor/aten/backend.h"
#include "executor/aten/operators.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

void widen(Arg& arg) {
  if (auto* dtype = std::get_if<DType>(&arg.v)) {
    if (is_floating(*dtype)) *dtype = DType::kFloat64;
  } else if (auto* list = std::get_if<ArgList>(&arg.v)) {
    for (Arg& item : *list) widen(item);
  }
}

void widen(AtenCall& call, const Program& program) {
  if (is_random(call)) return;
  if (call.op == "aten.view.dtype") {
    const Arg* self = call.find("self");
    const Arg* dtype = call.find("dtype");
    const bool from = self && self->is_value() && is_floating(program.values[self->value()].dtype);
    const auto* to = dtype ? std::get_if<DType>(&dtype->v) : nullptr;
    if (from || (to && is_floating(*to))) {
      throw NotJudged("aten.view.dtype reinterprets the bits of a float: no float64 oracle");
    }
  }
  for (auto& [name, arg] : call.args) {
    widen(arg);
    // softmax converts from half to float by this flag; in float64 there is nothing to convert
    if (name == "half_to_float") arg = Arg{false};
  }
}

}  // namespace

Program widened(const Program& program) {
  Program out = program;
  for (Value& value : out.values) {
    if (is_floating(value.dtype)) value.dtype = DType::kFloat64;
  }
  for (Step& step : out.steps) {
    auto* call = std::get_if<AtenCall>(&step);
    if (!call) throw NotJudged("the reference holds a kernel launch: no float64 oracle");
    widen(*call, program);
  }
  return out;
}

std::vector<at::Tensor> widened(const std::vector<at::Tensor>& tensors) {
  std::map<std::pair<const void*, at::ScalarType>, at::Tensor> wide;  // whole storages
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors) {
    at::Tensor& flat = wide[{tensor.storage().unsafeGetStorageImpl(), tensor.scalar_type()}];
    if (!flat.defined()) {
      const int64_t count = tensor.storage().nbytes() / tensor.element_size();
      const at::Tensor all = tensor.as_strided({count}, {1}, 0);
      flat = all.to(all.is_floating_point() ? at::kDouble : all.scalar_type(), false, true);
    }
    out.push_back(flat.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset()));
  }
  return out;
}

}  // namespace kw::exec
