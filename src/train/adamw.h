// AdamW (Loshchilov and Hutter, arXiv:1711.05101) on a model's parameters, which may be of a half
// type: it keeps them, their moments and sums of gradients in float32. Decay is for matrices alone,
// not for norms and biases. Owns this state and writes to the parameters; one thread.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kw {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1;
  double clip = 1.0;  // the norm that all gradients together are cut down to; 0: never
};

// Rises linearly from 0 over `warmup` steps, falls as a half cosine to `last` at the end and stays
// there (Loshchilov and Hutter, arXiv:1608.03983).
struct Schedule {
  double rate = 3e-4, last = 3e-5;
  int64_t warmup = 0, steps = 1;

  double at(int64_t step) const;  // from 0
};

class AdamW {
 public:
  // Parameters are asked for gradients from here on.
  AdamW(const std::map<std::string, at::Tensor>& parameters, AdamOptions options);

  // Adds the parameters' gradients, times `scale`, to the sums, and clears them.
  void accumulate(double scale = 1);
  // The same with the gradients of a copy of the model, on any device; its parameters by their
  // names.
  void accumulate(const std::map<std::string, at::Tensor>& copy, double scale = 1);
  // One step by the sums, at this learning rate; clears them. The norm of all gradients before it
  // was cut down. Where that is no number nothing is changed.
  double step(double rate);
  int64_t steps() const { return steps_; }

  // All state, the float32 parameters too, as safetensors; what load() makes goes on exactly.
  void save(const std::filesystem::path& path) const;
  // InputError where the file has not what these parameters need.
  void load(const std::filesystem::path& path);

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

}  // namespace kw
