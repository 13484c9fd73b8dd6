// Converts between tensors and the entries of safetensors files (formats/safetensors.h).
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace kw {

// Returns a stored tensor as a view of the file's memory, to be read while that lives. Throws
// InputError for types that parameters do not have. `name` is for messages.
at::Tensor stored_view(const StoredTensor& stored, std::string_view bytes, const std::string& name);
// Throws InputError if an element is infinite or NaN, because a model's answers mean nothing then.
void check_finite(const at::Tensor& tensor, const std::string& name);
std::string shape_text(at::IntArrayRef shape);

// Holds copies on the CPU of tensors that are to be stored.
class TensorsToStore {
 public:
  // Adds a tensor. Throws InputError for a type that is not stored.
  void add(const std::string& name, const at::Tensor& tensor);
  const std::vector<TensorToStore>& list() const { return list_; }

 private:
  std::vector<at::Tensor> held_;
  std::vector<TensorToStore> list_;
};

}  // namespace kw
