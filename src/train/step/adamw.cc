#include "train/step/adamw.h"

#include <algorithm>
#include <cmath>

#include "formats/base/error.h"
#include "formats/safetensors.h"
#include "model/stored.h"

namespace kw::train {
namespace {

constexpr uint64_t kShardBytes = 15 << 20;  // a model's files are this small to be copied easily

}  // namespace

AdamW::AdamW(const std::map<std::string, at::Tensor>& parameters, AdamOptions options)
    : options_(options) {
  const at::NoGradGuard guard;
  for (const auto& [name, parameter] : parameters) {
    names_.push_back(name);
    parameters_.push_back(parameter);
    parameters_.back().set_requires_grad(true);
    exact_.push_back(parameter.detach().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true));
    for (auto* list : {&mean_, &square_, &sum_}) list->push_back(at::zeros_like(exact_.back()));
    steps_each_.push_back(at::zeros({}, exact_.back().options()));
    decays_.push_back(parameter.dim() >= 2);
  }
}

void AdamW::accumulate(const Parameters& parameters, double scale) {
  const at::NoGradGuard guard;
  for (size_t i = 0; i < names_.size(); ++i)
    move_gradient(parameters.at(names_[i]), scale, sum_[i]);
}

void AdamW::add(const std::string& name, const at::Tensor& gradient, double scale) {
  const at::NoGradGuard guard;
  const auto found =
      std::ranges::lower_bound(names_, name);  // names are sorted, as a map gave them
  sum_.at(static_cast<size_t>(found - names_.begin())).add_(gradient, scale);
}

double AdamW::step(double rate) {
  const at::NoGradGuard guard;
  at::Tensor squares = at::zeros({}, sum_.front().options());
  for (const at::Tensor& sum : sum_) squares += sum.square().sum();
  const double norm = std::sqrt(squares.item<double>());
  if (std::isfinite(norm)) {
    const double factor = options_.clip > 0 && norm > options_.clip ? options_.clip / norm : 1;
    ++steps_;
    for (const bool decays : {false, true}) {
      std::vector<at::Tensor> exact, grads, mean, square, steps;
      for (size_t i = 0; i < names_.size(); ++i) {
        if (decays_[i] != decays) continue;
        exact.push_back(exact_[i]);
        grads.push_back(factor == 1 ? sum_[i] : sum_[i].mul_(factor));
        mean.push_back(mean_[i]);
        square.push_back(square_[i]);
        steps.push_back(steps_each_[i].fill_(steps_));
      }
      if (exact.empty()) continue;
      at::_fused_adamw_(exact, grads, mean, square, /*max_exp_avg_sqs=*/{}, steps, rate,
                        options_.beta1, options_.beta2, decays ? options_.decay : 0.0,
                        options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
    }
    write_back();
  }
  for (at::Tensor& sum : sum_) sum.zero_();
  return norm;
}

void AdamW::write_back() {
  const at::NoGradGuard guard;
  for (size_t i = 0; i < names_.size(); ++i) parameters_[i].copy_(exact_[i]);
}

std::map<std::string, std::vector<at::Tensor>*> AdamW::groups() {
  return {{"exact", &exact_}, {"mean", &mean_}, {"square", &square_}};
}

void AdamW::save(const std::filesystem::path& path) const {
  TensorsToStore tensors;
  for (const auto& [group, list] : const_cast<AdamW*>(this)->groups()) {
    for (size_t i = 0; i < names_.size(); ++i) tensors.add(group + "/" + names_[i], (*list)[i]);
  }
  write_safetensors(path, tensors.list(), {{"steps", std::to_string(steps_)}});
}

void AdamW::load(const std::filesystem::path& path) {
  const at::NoGradGuard guard;
  const SafetensorsFile file(path);
  const auto& header = file.header();
  for (const auto& [group, list] : groups()) {
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto found = header.tensors.find(group + "/" + names_[i]);
      if (found == header.tensors.end() || found->second.dtype != "F32" ||
          at::IntArrayRef(found->second.shape) != (*list)[i].sizes()) {
        throw InputError(path.string() + ": is not the state of this model's training: " + group +
                         "/" + names_[i]);
      }
      (*list)[i].copy_(at::from_blob(const_cast<char*>(file.bytes(found->second).data()),
                                     found->second.shape, at::kFloat));
    }
  }
  const auto steps = header.metadata.find("steps");
  if (steps == header.metadata.end()) throw InputError(path.string() + ": has no number of steps");
  steps_ = std::stoll(steps->second);
  write_back();
}

void AdamW::save_model(const Transformer& model, const std::filesystem::path& folder) const {
  model.save(folder, kShardBytes);
}

}  // namespace kw::train
