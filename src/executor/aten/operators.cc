#include "executor/aten/operators.h"

#include <algorithm>
#include <array>

#include "executor/aten/guarded_memory.h"
#include "formats/base/error.h"
#include "ops/operator.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

using c10::IValue;
using c10::TypeKind;

std::string_view base_name(std::string_view op) {
  op.remove_prefix(std::min(op.size(), op.find('.') + 1));
  return op.substr(0, op.find('.'));
}

double to_double(const Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg.v)) return *d;
  if (const auto* i = std::get_if<int64_t>(&arg.v)) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&arg.v)) return *b;
  throw InputError("expected a number");
}

int64_t to_int(const Arg& arg) {
  if (const auto* i = std::get_if<int64_t>(&arg.v)) return *i;
  if (const auto* b = std::get_if<bool>(&arg.v)) return *b;
  throw InputError("expected an integer");
}

// Returns a number as a tensor, for a schema that requires one. It takes part in type promotion as
// a Python number does.
at::Tensor wrapped_number(const Arg& arg) {
  at::Tensor out = at::scalar_tensor(
      to_scalar(arg), at::TensorOptions().dtype(std::holds_alternative<double>(arg.v) ? at::kDouble
                                                : std::holds_alternative<bool>(arg.v) ? at::kBool
                                                                                      : at::kLong));
  out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

at::MemoryFormat memory_format(const std::string& name) {
  if (name == "contiguous_format") return at::MemoryFormat::Contiguous;
  if (name == "preserve_format") return at::MemoryFormat::Preserve;
  if (name == "channels_last") return at::MemoryFormat::ChannelsLast;
  if (name == "channels_last_3d") return at::MemoryFormat::ChannelsLast3d;
  throw InputError("unknown memory format \"" + name + "\"");
}

IValue to_ivalue(const Arg& arg, const c10::Type& type, at::Device device);

const ArgList& as_list(const Arg& arg, ArgList& storage, int32_t repeat) {
  if (const auto* list = std::get_if<ArgList>(&arg.v)) return *list;
  storage.assign(repeat, arg);  // int[2] given as one number
  return storage;
}

IValue list_to_ivalue(const ArgList& items, const c10::TypePtr& element, at::Device device) {
  switch (element->kind()) {
    case TypeKind::IntType:
    case TypeKind::SymIntType: {
      c10::List<int64_t> out;
      for (const Arg& item : items) out.push_back(to_int(item));
      return out;
    }
    case TypeKind::FloatType: {
      c10::List<double> out;
      for (const Arg& item : items) out.push_back(to_double(item));
      return out;
    }
    case TypeKind::BoolType: {
      c10::List<bool> out;
      for (const Arg& item : items) out.push_back(to_int(item) != 0);
      return out;
    }
    default: {
      c10::impl::GenericList out(element);
      for (const Arg& item : items) out.push_back(to_ivalue(item, *element, device));
      return out;
    }
  }
}

// Converts an argument without tensors.
IValue to_ivalue(const Arg& arg, const c10::Type& type, at::Device device) {
  if (type.kind() == TypeKind::OptionalType) {
    if (arg.is_none()) return IValue();
    return to_ivalue(arg, *type.castRaw<c10::OptionalType>()->getElementType(), device);
  }
  if (const auto* dtype = std::get_if<DType>(&arg.v)) return scalar_type(*dtype);
  if (std::holds_alternative<DeviceArg>(arg.v)) return device;
  if (const auto* layout = std::get_if<LayoutArg>(&arg.v)) {
    if (layout->name != "strided") throw InputError("layout \"" + layout->name + "\"");
    return at::kStrided;
  }
  if (const auto* format = std::get_if<MemoryFormatArg>(&arg.v)) return memory_format(format->name);
  switch (type.kind()) {
    case TypeKind::TensorType:
      if (arg.is_none()) return at::Tensor();
      return wrapped_number(arg);
    case TypeKind::FloatType:
      return to_double(arg);
    case TypeKind::BoolType:
      return to_int(arg) != 0;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return to_int(arg);
    case TypeKind::ScalarTypeType:
      return to_int(arg);  // a default written as a number
    case TypeKind::NumberType:
      return to_scalar(arg);
    case TypeKind::StringType:
      if (const auto* text = std::get_if<std::string>(&arg.v)) return *text;
      throw InputError("expected a string");
    case TypeKind::GeneratorType:
      if (arg.is_none()) return IValue();
      break;
    default:
      break;
  }
  throw InputError("does not fit type " + type.str());
}

// Returns the value numbers of an argument that is made of tensors. Refuses a number in it, because
// the caller has handled a plain number.
std::vector<ValueId> tensor_ids(const ArgList& items, bool optional = false) {
  std::vector<ValueId> out;
  for (const Arg& item : items) {
    if (!item.is_value() && !(optional && item.is_none())) throw InputError("expected tensors");
    out.push_back(item.is_value() ? item.value() : -1);
  }
  return out;
}

const c10::Type* strip_optional(const c10::TypePtr& type) {
  if (type->kind() != TypeKind::OptionalType) return type.get();
  return type->castRaw<c10::OptionalType>()->getElementType().get();
}

at::Tensor make_constant(const AtenCall& call, at::Device device) {
  const Arg *data = call.find("data"), *shape = call.find("shape"), *dtype = call.find("dtype");
  if (!data || !shape || !dtype || !std::holds_alternative<DType>(dtype->v)) {
    throw InputError("a constant needs data, shape and dtype");
  }
  ArgList data_storage, shape_storage;
  const ArgList& items = as_list(*data, data_storage, 1);
  const DType type = std::get<DType>(dtype->v);
  const bool floating = is_floating(type);
  at::Tensor flat =
      at::empty({static_cast<int64_t>(items.size())}, floating ? at::kDouble : at::kLong);
  for (size_t i = 0; i < items.size(); ++i) {
    if (floating)
      flat.mutable_data_ptr<double>()[i] = to_double(items[i]);
    else
      flat.mutable_data_ptr<int64_t>()[i] = to_int(items[i]);
  }
  std::vector<int64_t> sizes;
  for (const Arg& dim : as_list(*shape, shape_storage, 1)) sizes.push_back(to_int(dim));
  return flat.to(scalar_type(type)).reshape(sizes).to(device);
}

std::vector<ValueId> written_values(const AtenCall& call, const c10::FunctionSchema& schema) {
  std::vector<ValueId> out;
  for (const c10::Argument& argument : schema.arguments()) {
    if (!argument.alias_info() || !argument.alias_info()->isWrite()) continue;
    const Arg* arg = call.find(argument.name());
    if (!arg || arg->is_none()) continue;
    ArgList storage;
    for (ValueId id : tensor_ids(as_list(*arg, storage, 1))) out.push_back(id);
  }
  return out;
}

// Checks the recorded writes. They may be more than the schema's, because batch_norm overwrites its
// running statistics and its schema does not say so. They may not be fewer, and all must be
// arguments.
void check_writes(const AtenCall& call, const c10::FunctionSchema& schema) {
  const auto claims = [&](ValueId id) {
    return std::find(call.mutated.begin(), call.mutated.end(), id) != call.mutated.end();
  };
  const std::vector<ValueId> written = written_values(call, schema);
  std::vector<ValueId> arguments;
  Step step = call;
  for_each_value(step, [&](ValueId& id) { arguments.push_back(id); });
  const bool all = std::all_of(written.begin(), written.end(), claims);
  const bool real = std::all_of(call.mutated.begin(), call.mutated.end(), [&](ValueId id) {
    return std::find(arguments.begin(), arguments.end(), id) != arguments.end();
  });
  if (!all || !real) {
    throw InputError(call.op + ": the record of what it overwrites contradicts its schema");
  }
}

}  // namespace

at::Scalar to_scalar(const Arg& arg) {
  if (const auto* b = std::get_if<bool>(&arg.v)) return at::Scalar(*b);
  if (const auto* i = std::get_if<int64_t>(&arg.v)) return at::Scalar(*i);
  return at::Scalar(to_double(arg));
}

std::pair<std::string, std::string> dispatcher_name(const std::string& op) {
  const size_t first = op.find('.'), second = op.find('.', first + 1);
  if (first == std::string::npos || second == std::string::npos) {
    throw InputError("operator name \"" + op + "\" is not namespace.name.overload");
  }
  std::string overload = op.substr(second + 1);
  if (overload == "default") overload.clear();
  return {op.substr(0, first) + "::" + op.substr(first + 1, second - first - 1), overload};
}

bool makes_empty(const std::string& op) {
  constexpr std::array<std::string_view, 7> kNames = {
      "empty",     "empty_like",        "empty_strided",  "empty_permuted",
      "new_empty", "new_empty_strided", "empty_quantized"};
  return op.starts_with("aten.") &&
         std::find(kNames.begin(), kNames.end(), base_name(op)) != kNames.end();
}

OperatorCall::OperatorCall(const AtenCall& call, at::Device device) {
  if (call.op == "kernelwright.constant.default") {
    constant_ = make_constant(call, device);
    return;
  }
  resolve(call, device);
}

void OperatorCall::resolve(const AtenCall& call, at::Device device) {
  const auto [name, overload] = dispatcher_name(call.op);
  handle_ = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!handle_) throw InputError("this PyTorch has no operator " + call.op);
  // Records come from workers that are not trusted, and PyTorch has operators that open files.
  if (!find_operator(call.op) && !is_opaque_operator(call.op)) {
    throw InputError(call.op + " is no operator that a program may call");
  }
  const c10::FunctionSchema& schema = handle_->schema();
  size_t used = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    const Arg* arg = call.find(argument.name());
    used += arg != nullptr;
    try {
      add_argument(argument, arg, device);
    } catch (const std::exception& error) {
      throw InputError(call.op + ", argument " + argument.name() + ": " + error.what());
    }
  }
  if (used != call.args.size()) throw InputError(call.op + " has an argument outside its schema");
  check_writes(call, schema);
  random_ = is_random(call);
}

void OperatorCall::add_argument(const c10::Argument& argument, const Arg* arg, at::Device device) {
  const c10::TypePtr& type = argument.real_type();
  const c10::Type* plain = strip_optional(type);
  if (!arg) {
    const bool factory_device = plain->kind() == TypeKind::DeviceObjType && holes_.empty();
    if (factory_device) {
      template_.push_back(device);  // factories default to the CPU; a task lives on its device
    } else if (argument.default_value()) {
      template_.push_back(*argument.default_value());
    } else if (type->kind() == TypeKind::OptionalType) {
      template_.push_back(IValue());
    } else {
      throw InputError("is missing");
    }
    return;
  }
  if (plain->kind() == TypeKind::TensorType && arg->is_value()) {
    holes_.push_back({TensorHole::kOne, template_.size(), {arg->value()}});
    template_.push_back(IValue());
    return;
  }
  if (plain->kind() == TypeKind::ListType && !arg->is_none()) {
    const c10::TypePtr& element = plain->castRaw<c10::ListType>()->getElementType();
    ArgList storage;
    const ArgList& items = as_list(*arg, storage, argument.N().value_or(1));
    if (strip_optional(element)->kind() == TypeKind::TensorType) {
      const bool optional = element->kind() == TypeKind::OptionalType;  // indices of x[:, i]
      holes_.push_back({optional ? TensorHole::kOptionalList : TensorHole::kList, template_.size(),
                        tensor_ids(items, optional)});
      template_.push_back(IValue());
    } else {
      template_.push_back(list_to_ivalue(items, element, device));
    }
    return;
  }
  template_.push_back(to_ivalue(*arg, *type, device));
}

std::vector<at::Tensor> OperatorCall::run(std::span<const at::Tensor> slots) const {
  if (!handle_) return {constant_.clone()};
  torch::jit::Stack stack = template_;
  for (const TensorHole& hole : holes_) {
    if (hole.kind == TensorHole::kOne) {
      stack[hole.entry] = slots[hole.values[0]];
    } else if (hole.kind == TensorHole::kOptionalList) {
      c10::List<std::optional<at::Tensor>> list;
      for (ValueId id : hole.values)
        list.push_back(id < 0 ? std::nullopt : std::optional(slots[id]));
      stack[hole.entry] = std::move(list);
    } else {
      c10::List<at::Tensor> list;
      for (ValueId id : hole.values) list.push_back(slots[id]);
      stack[hole.entry] = std::move(list);
    }
  }
  handle_->callBoxed(stack);
  std::vector<at::Tensor> results;
  for (const IValue& value : stack) {
    if (value.isTensor()) {
      results.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) results.push_back(tensor);
    } else if (value.isNone()) {
      results.emplace_back();
    }
  }
  return results;
}

}  // namespace kw::exec
