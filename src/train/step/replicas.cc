#include "train/step/replicas.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include <exception>

#include "formats/base/error.h"

namespace kw::train {

Replicas::Replicas(const Transformer& model, int64_t devices) : model_(model) {
  const at::Device own = model.device();
  const int64_t first = own.is_cuda() && own.has_index() ? own.index() : 0;
  const int64_t there = at::detail::getCUDAHooks().deviceCount();
  if (own.is_cuda() && first + devices > there) {
    throw EnvironmentError(std::to_string(devices) + " GPUs were asked for, and there are " +
                           std::to_string(there));
  }
  for (int64_t i = 1; i < devices; ++i) {
    const at::Device device =
        own.is_cuda() ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(first + i)) : own;
    copies_.push_back(std::make_unique<Transformer>(model, device));
    for (const auto& [name, parameter] : copies_.back()->parameters()) {
      at::Tensor(parameter).set_requires_grad(model.parameters().at(name).requires_grad());
    }
    threads_.push_back(std::make_unique<WorkThread>());
  }
}

void Replicas::each(size_t count, const std::function<void(const Transformer&, size_t)>& work) {
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < count; ++i) {
    others.push_back(
        threads_[i - 1]->begin([&work, &model = *copies_[i - 1], i] { work(model, i); }));
  }
  std::exception_ptr failed;
  const auto attempt = [&](const auto& part) {
    try {
      part();
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  };
  attempt([&] { work(model_, 0); });
  for (auto& other : others) attempt([&] { other.get(); });
  if (failed) std::rethrow_exception(failed);
}

void Replicas::follow() {
  const at::NoGradGuard guard;
  for (const auto& copy : copies_) {
    for (const auto& [name, parameter] : copy->parameters()) {
      at::Tensor(parameter).copy_(model_.parameters().at(name), /*non_blocking=*/true);
    }
  }
}

}  // namespace kw::train
