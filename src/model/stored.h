// Tensors as safetensors files have them (formats/safetensors.h).
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace kw {

// A stored tensor in the file's own memory: to be read, while that lives. InputError for types that
// are none of parameters; `name` for messages.
at::Tensor stored_view(const StoredTensor& stored, std::string_view bytes, const std::string& name);
// InputError where one is infinite or no number: nothing that a model says with it means anything.
void check_finite(const at::Tensor& tensor, const std::string& name);
std::string shape_text(at::IntArrayRef shape);

// Copies on the CPU of tensors that are to be stored.
class TensorsToStore {
 public:
  // InputError for a type that is not stored.
  void add(const std::string& name, const at::Tensor& tensor);
  const std::vector<TensorToStore>& list() const { return list_; }

 private:
  std::vector<at::Tensor> held_;
  std::vector<TensorToStore> list_;
};

}  // namespace kw
