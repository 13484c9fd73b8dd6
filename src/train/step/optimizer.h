// Makes steps of learning from gradients, on all of a model's parameters (adamw.h) or on an
// adapter's (lora.h). Writes to the model's parameters. One thread.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "model/transformer.h"

namespace kw::train {

// A learning rate that rises linearly from 0 over `warmup` steps, falls as a half cosine to `last`
// at the end, and stays there (Loshchilov and Hutter, arXiv:1608.03983).
struct Schedule {
  double rate = 3e-4, last = 3e-5;
  int64_t warmup = 0, steps = 1;

  double at(int64_t step) const;  // from 0
};

class ParameterOptimizer {
 public:
  using Parameters = std::map<std::string, at::Tensor>;

  virtual ~ParameterOptimizer() = default;

  // Adds the gradients of the model's parameters, or of a copy's on any device, to the sums, times
  // `scale`. Clears the gradients.
  virtual void accumulate(const Parameters& parameters, double scale) = 0;
  void accumulate(const Parameters& parameters) { accumulate(parameters, 1); }
  // Makes one step by the sums at this learning rate, and clears the sums. Returns the norm of all
  // gradients before clipping. If the norm is not finite, the parameters stay as they are.
  virtual double step(double rate) = 0;

  // Saves all state as safetensors; after load() learning goes on exactly.
  virtual void save(const std::filesystem::path& path) const = 0;
  // Throws InputError if the file lacks what these parameters need.
  virtual void load(const std::filesystem::path& path) = 0;
  // Saves what was learned as a folder for find_model(). Throws EnvironmentError if the disk
  // refuses.
  virtual void save_model(const Transformer& model, const std::filesystem::path& folder) const = 0;
};

// Adds a parameter's gradient, times `scale`, to a sum that may be on another device, and clears
// the gradient.
void move_gradient(const at::Tensor& parameter, double scale, at::Tensor& sum);

}  // namespace kw::train
