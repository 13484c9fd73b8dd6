#include "executor/aten/off_device_store.h"

namespace kw::exec {
namespace {

class InPlace : public OffDeviceStore {
 public:
  explicit InPlace(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::vector<at::Tensor> open() override { return tensors_; }
  void close() override {}

 private:
  std::vector<at::Tensor> tensors_;
};

}  // namespace

int64_t total_bytes(const std::vector<at::Tensor>& tensors) {
  int64_t sum = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) sum += static_cast<int64_t>(tensor.nbytes());
  }
  return sum;
}

std::unique_ptr<OffDeviceStore> store_in_place(std::vector<at::Tensor> tensors) {
  return std::make_unique<InPlace>(std::move(tensors));
}

std::unique_ptr<OffDeviceStore> store_on_host(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors) {
    out.push_back(tensor.defined() ? tensor.to(at::kCPU, tensor.scalar_type(), false, true)
                                   : tensor);
  }
  return store_in_place(std::move(out));
}

}  // namespace kw::exec
