// Tensors that are kept where no kernel of a candidate can reach them.
#pragma once

#include <memory>
#include <vector>

#include "executor/aten/aten.h"

namespace kw::exec {

class OffDeviceStore {
 public:
  virtual ~OffDeviceStore() = default;
  // Returns the tensors. Copied ones are contiguous; undefined ones stay undefined. They are valid
  // until close() and must not be written to.
  virtual std::vector<at::Tensor> open() = 0;
  // Ends the use of the tensors that open() returned.
  virtual void close() = 0;
};

int64_t total_bytes(const std::vector<at::Tensor>& tensors);

// Keeps the tensors where they are, for backends whose kernels reach nothing but their buffers.
std::unique_ptr<OffDeviceStore> store_in_place(std::vector<at::Tensor> tensors);
// Copies the tensors to the host.
std::unique_ptr<OffDeviceStore> store_on_host(const std::vector<at::Tensor>& tensors);

}  // namespace kw::exec
