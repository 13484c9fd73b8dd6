// What makes steps of learning from gradients: all of a model's parameters (adamw.h), or an
// adapter's (lora.h). Writes to the model's parameters. One thread.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "model/transformer.h"

namespace kw {

// Rises linearly from 0 over `warmup` steps, falls as a half cosine to `last` at the end and stays
// there (Loshchilov and Hutter, arXiv:1608.03983).
struct Schedule {
  double rate = 3e-4, last = 3e-5;
  int64_t warmup = 0, steps = 1;

  double at(int64_t step) const;  // from 0
};

class ParameterOptimizer {
 public:
  using Parameters = std::map<std::string, at::Tensor>;

  virtual ~ParameterOptimizer() = default;

  // Adds the gradients of a model's parameters, or of a copy's on any device, times `scale` to the
  // sums, and clears them.
  virtual void accumulate(const Parameters& parameters, double scale) = 0;
  void accumulate(const Parameters& parameters) { accumulate(parameters, 1); }
  // One step by the sums, at this learning rate; clears them. The norm of all gradients before it
  // was cut down. Where that is no number nothing is changed.
  virtual double step(double rate) = 0;

  // All state, as safetensors; what load() makes goes on exactly.
  virtual void save(const std::filesystem::path& path) const = 0;
  // InputError where the file has not what these parameters need.
  virtual void load(const std::filesystem::path& path) = 0;
  // What was learned, as find_model() finds it. EnvironmentError where the disk refuses.
  virtual void save_model(const Transformer& model, const std::filesystem::path& folder) const = 0;
};

// From a parameter to a sum, which may be on another device; it has none then.
void move_gradient(const at::Tensor& parameter, double scale, at::Tensor& sum);

}  // namespace kw
