// Low-rank adaptation: only the factors of an adapter (model/adapter.h) learn, and only the adapter
// is saved. The model's weights are the base's plus the factors' product. The gradients of these
// weights give the gradients of the factors by the chain rule. With W' = W + s B A and G the
// gradient of W', the gradient of B is s G A^T and the gradient of A is s B^T G.
// Owns adapter, base weights and optimizer state; writes to the model's parameters. One thread.
#pragma once

#include "model/adapter.h"
#include "train/step/adamw.h"

namespace kw::train {

class Lora : public ParameterOptimizer {
 public:
  // Takes a model whose weights are the unchanged base, and adds the factors to them. From then on
  // only parameters that have factors require gradients. `base` is the base's folder.
  Lora(const Transformer& model, const std::filesystem::path& base, Adapter adapter,
       AdamOptions options);

  using ParameterOptimizer::accumulate;
  void accumulate(const Parameters& parameters, double scale) override;
  double step(double rate) override;
  void save(const std::filesystem::path& path) const override;
  void load(const std::filesystem::path& path) override;
  // Saves the adapter, which names its base by the relative path from `folder`.
  void save_model(const Transformer& model, const std::filesystem::path& folder) const override;

  const Adapter& adapter() const { return adapter_; }

 private:
  struct Weight {
    at::Tensor weight, base, sum;  // the model's weight; the base's; sum of gradients, float32
  };
  void write_back();

  const std::filesystem::path base_;
  Adapter adapter_;
  AdamW adam_;  // for the factors
  std::map<std::string, Weight> weights_;
};

}  // namespace kw::train
