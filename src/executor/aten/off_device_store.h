// Tensors that are put away where no kernel of a candidate can reach them.
#pragma once

#include <memory>
#include <vector>

#include "executor/aten/aten.h"

namespace kw {

class Stowed {
 public:
  virtual ~Stowed() = default;
  // The tensors, contiguous where they had to be copied, undefined where they were. Good until
  // close(); not to be written to.
  virtual std::vector<at::Tensor> open() = 0;
  // Nobody may use them any more.
  virtual void close() = 0;
};

int64_t total_bytes(const std::vector<at::Tensor>& tensors);

// Stay where they are: for kernels that reach nothing but their buffers.
std::unique_ptr<Stowed> stow_in_place(std::vector<at::Tensor> tensors);
// Copies on the host.
std::unique_ptr<Stowed> stow_on_host(const std::vector<at::Tensor>& tensors);

}  // namespace kw
