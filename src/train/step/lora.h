// Low-rank adaptation: a model learns by the factors of an adapter (model/adapter.h) alone, and
// what is kept of it is the adapter. The model is used as it is: its weights are the base's with
// the factors, and their gradients give those of the factors by the chain rule. With
// W' = W + s B A and G the gradient of W', that of B is s G A^T and that of A is s B^T G.
// Owns adapter, base weights and optimizer state; writes to the model's parameters. One thread.
#pragma once

#include "model/adapter.h"
#include "train/step/adamw.h"

namespace kw {

class Lora : public ParameterOptimizer {
 public:
  // A model that is the adapter's base, as that was; it is changed from here on, and of its
  // parameters those that have factors alone are asked for gradients. `base` is its folder.
  Lora(const Transformer& model, const std::filesystem::path& base, Adapter adapter,
       AdamOptions options);

  using ParameterOptimizer::accumulate;
  void accumulate(const Parameters& parameters, double scale) override;
  double step(double rate) override;
  void save(const std::filesystem::path& path) const override;
  void load(const std::filesystem::path& path) override;
  // The adapter, which names its base by the way from this folder.
  void save_model(const Transformer& model, const std::filesystem::path& folder) const override;

  const Adapter& adapter() const { return adapter_; }

 private:
  struct Weight {
    at::Tensor weight, base, sum;  // the model's; as it was; of gradients, float32
  };
  void write_back();

  const std::filesystem::path base_;
  Adapter adapter_;
  AdamW adam_;  // of the factors
  std::map<std::string, Weight> weights_;
};

}  // namespace kw
