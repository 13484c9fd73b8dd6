// What low-rank adaptation (LoRA, Hu et al., arXiv:2106.09685) learns in place of a model's
// weights: for each projection of its layers, W [out, in], two factors A [rank, in] and
// B [out, rank]; with them the weight is W + scale B A. A is drawn, B is zeros to begin with, so
// that it begins as the model.
//
// Owns the factors, of the model's dtype and on its device. One thread.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "formats/model_folder.h"

namespace kw {

class Adapter {
 public:
  struct Factors {
    at::Tensor a, b;
  };
  using Parameters = std::map<std::string, at::Tensor>;  // a model's, by name

  // A new one for this model: for its matrices *_proj.weight.
  Adapter(const Parameters& model, AdapterConfig config, uint64_t seed);
  // From a folder. InputError where its factors are not those of such a model.
  Adapter(const Parameters& model, const std::filesystem::path& folder);

  const AdapterConfig& config() const { return config_; }
  // By the names of the weights that they are for.
  const std::map<std::string, Factors>& factors() const { return factors_; }
  // All factors, by names of their own: "...q_proj.weight" has "...q_proj.lora_A.weight" and B's.
  Parameters parameters() const;
  static std::string name_of_a(const std::string& weight);
  static std::string name_of_b(const std::string& weight);
  // `weight`, which is of the base, with its factors: computed in float32, of the weight's dtype.
  at::Tensor adapted(const std::string& name, const at::Tensor& weight) const;
  // As PEFT reads it; `base` as it is to be written. EnvironmentError where the disk refuses.
  void save(const std::filesystem::path& folder, const std::string& base) const;

 private:
  AdapterConfig config_;
  std::map<std::string, Factors> factors_;
};

}  // namespace kw
