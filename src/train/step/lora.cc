#include "train/step/lora.h"

namespace kw::train {

namespace fs = std::filesystem;

Lora::Lora(const Transformer& model, const fs::path& base, Adapter adapter, AdamOptions options)
    : base_(base), adapter_(std::move(adapter)), adam_(adapter_.parameters(), options) {
  for (const auto& [name, parameter] : model.parameters()) {
    const bool learns = adapter_.factors().contains(name);
    at::Tensor(parameter).set_requires_grad(learns);
    if (!learns) continue;
    weights_[name] = {parameter, parameter.detach().clone(),
                      at::zeros_like(parameter, parameter.options().dtype(at::kFloat))};
  }
  write_back();
}

void Lora::accumulate(const Parameters& parameters, double scale) {
  const at::NoGradGuard guard;
  for (auto& [name, weight] : weights_) move_gradient(parameters.at(name), scale, weight.sum);
}

double Lora::step(double rate) {
  const at::NoGradGuard guard;
  const double s = adapter_.config().scale();
  for (auto& [name, weight] : weights_) {
    const auto& [a, b] = adapter_.factors().at(name);
    adam_.add(Adapter::name_of_a(name), at::mm(b.to(at::kFloat).t(), weight.sum), s);
    adam_.add(Adapter::name_of_b(name), at::mm(weight.sum, a.to(at::kFloat).t()), s);
    weight.sum.zero_();
  }
  const double norm = adam_.step(rate);
  write_back();
  return norm;
}

void Lora::write_back() {
  const at::NoGradGuard guard;
  for (auto& [name, weight] : weights_) weight.weight.copy_(adapter_.adapted(name, weight.base));
}

void Lora::save(const fs::path& path) const { adam_.save(path); }

void Lora::load(const fs::path& path) {
  adam_.load(path);
  write_back();
}

void Lora::save_model(const Transformer&, const fs::path& folder) const {
  const fs::path base = fs::canonical(base_);
  adapter_.save(folder, base.lexically_relative(fs::weakly_canonical(folder)).string());
}

}  // namespace kw::train
