// AdamW (Loshchilov and Hutter, arXiv:1711.05101) on a model's parameters, which may be of a half
// type. It keeps copies of the parameters, their moments and sums of gradients in float32. Weight
// decay applies to matrices, not to norms and biases. Owns this state and writes to the parameters;
// one thread.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "train/step/optimizer.h"

namespace kw::train {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1;
  double clip = 1.0;  // the largest norm of all gradients together; 0: no limit
};

class AdamW : public ParameterOptimizer {
 public:
  // Makes the parameters require gradients.
  AdamW(const std::map<std::string, at::Tensor>& parameters, AdamOptions options);

  using ParameterOptimizer::accumulate;
  void accumulate(const Parameters& copy, double scale) override;
  // Adds a parameter's gradient to its sum.
  void add(const std::string& name, const at::Tensor& gradient, double scale);
  double step(double rate) override;
  int64_t steps() const { return steps_; }

  // Saves all state, with the float32 parameters.
  void save(const std::filesystem::path& path) const override;
  void load(const std::filesystem::path& path) override;
  void save_model(const Transformer& model, const std::filesystem::path& folder) const override;

 private:
  void write_back();
  std::map<std::string, std::vector<at::Tensor>*> groups();

  AdamOptions options_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;                   // the model's own
  std::vector<at::Tensor> exact_, mean_, square_, sum_;  // float32
  std::vector<at::Tensor> steps_each_;                   // as the fused kernel wants them
  std::vector<bool> decays_;
  int64_t steps_ = 0;
};

}  // namespace kw::train
