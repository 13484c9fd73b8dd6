#include "executor/replay/oracle.h"

#include <map>

#include "executor/aten/backend.h"
#include "executor/aten/guarded_memory.h"
#include "executor/aten/operators.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

DType wide_type(DType dtype) {
  if (is_complex(dtype)) return DType::kComplex128;
  return is_floating(dtype) ? DType::kFloat64 : dtype;
}

void widen(Arg& arg) {
  if (auto* dtype = std::get_if<DType>(&arg.v)) {
    *dtype = wide_type(*dtype);
  } else if (auto* list = std::get_if<ArgList>(&arg.v)) {
    for (Arg& item : *list) widen(item);
  }
}

bool has_fractions(DType dtype) { return wide_type(dtype) == DType::kFloat64 || is_complex(dtype); }

void widen(AtenCall& call, const Program& program) {
  if (is_random(call)) return;
  if (call.op == "aten.view.dtype") {
    const Arg* self = call.find("self");
    const Arg* dtype = call.find("dtype");
    const bool from =
        self && self->is_value() && has_fractions(program.values[self->value()].dtype);
    const auto* to = dtype ? std::get_if<DType>(&dtype->v) : nullptr;
    if (from || (to && has_fractions(*to))) {
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
  for (Value& value : out.values) value.dtype = wide_type(value.dtype);
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
      flat = all.to(scalar_type(wide_type(dtype_of(all.scalar_type()))), false, true);
    }
    out.push_back(flat.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset()));
  }
  return out;
}

}  // namespace kw::exec
