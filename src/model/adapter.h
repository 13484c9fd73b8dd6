// What low-rank adaptation (LoRA, Hu et al., arXiv:2106.09685) learns instead of a model's weights.
// Each projection of a layer, W [out, in], has two factors A [rank, in] and B [out, rank], and its
// weight becomes W + scale B A. A is drawn and B begins as zeros, so that training begins with the
// model itself.
//
// An Adapter owns the factors, which have the model's dtype and device. It is for one thread.
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

  // Makes a new adapter for the matrices *_proj.weight of this model.
  Adapter(const Parameters& model, AdapterConfig config, uint64_t seed);
  // Reads an adapter from a folder. Throws InputError if its factors do not fit the model.
  Adapter(const Parameters& model, const std::filesystem::path& folder);

  const AdapterConfig& config() const { return config_; }
  // Returns the factors by the names of their weights.
  const std::map<std::string, Factors>& factors() const { return factors_; }
  // Returns all factors by their own names: "...q_proj.weight" has "...q_proj.lora_A.weight" and
  // "...q_proj.lora_B.weight".
  Parameters parameters() const;
  static std::string name_of_a(const std::string& weight);
  static std::string name_of_b(const std::string& weight);
  // Returns the base's `weight` with its factors added. Computes in float32 and returns the
  // weight's dtype.
  at::Tensor adapted(const std::string& name, const at::Tensor& weight) const;
  // Saves the adapter in PEFT's form, with `base` as the name of the base model. Throws
  // EnvironmentError if the disk refuses.
  void save(const std::filesystem::path& folder, const std::string& base) const;

 private:
  AdapterConfig config_;
  std::map<std::string, Factors> factors_;
};

}  // namespace kw
