#include "model/stored.h"

#include <map>

#include "formats/base/error.h"

namespace kw {
namespace {

const std::map<std::string, at::ScalarType>& stored_types() {
  static const std::map<std::string, at::ScalarType> table = {
      {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"F64", at::kDouble}};
  return table;
}

std::string stored_type(at::ScalarType type) {
  for (const auto& [name, known] : stored_types()) {
    if (known == type) return name;
  }
  throw InputError("parameters of a type that is not stored");
}

}  // namespace

at::Tensor stored_view(const StoredTensor& stored, std::string_view bytes,
                       const std::string& name) {
  const auto type = stored_types().find(stored.dtype);
  if (type == stored_types().end()) {
    throw InputError(name + ": parameters of type " + stored.dtype + " are not read");
  }
  return at::from_blob(const_cast<char*>(bytes.data()), stored.shape,
                       at::TensorOptions(type->second));
}

void check_finite(const at::Tensor& tensor, const std::string& name) {
  if (at::isfinite(tensor).all().item<bool>()) return;
  throw InputError(name + ": has values that are infinite or no numbers");
}

std::string shape_text(at::IntArrayRef shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

void TensorsToStore::add(const std::string& name, const at::Tensor& tensor) {
  held_.push_back(tensor.detach().cpu().contiguous());
  const at::Tensor& t = held_.back();
  list_.push_back({name,
                   stored_type(t.scalar_type()),
                   t.sizes().vec(),
                   {static_cast<const char*>(t.const_data_ptr()), t.nbytes()}});
}

}  // namespace kw
