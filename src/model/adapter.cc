#include "model/adapter.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/safetensors.h"
#include "model/stored.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProjection = "_proj.weight", kWeight = ".weight";

std::string without_ending(const std::string& name) {
  return name.substr(0, name.size() - kWeight.size());
}

// Returns "up_proj" for "model.layers.0.mlp.up_proj.weight".
std::string module_of(const std::string& name) {
  const std::string path = without_ending(name);
  return path.substr(path.rfind('.') + 1);
}

std::string peft_name(const std::string& name) { return "base_model.model." + name; }

}  // namespace

Adapter::Adapter(const Parameters& model, AdapterConfig config, uint64_t seed)
    : config_(std::move(config)) {
  // Draws on the CPU, so that a seed means the same on every device. The distribution is that of
  // nn.Linear, which PEFT uses.
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const auto& [name, weight] : model) {
    if (!name.ends_with(kProjection)) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
    const at::Tensor a =
        at::empty({config_.rank, weight.size(1)}, at::kFloat).uniform_(-bound, bound, generator);
    factors_[name] = {a.to(weight.options()),
                      at::zeros({weight.size(0), config_.rank}, weight.options())};
  }
}

Adapter::Adapter(const Parameters& model, const fs::path& folder)
    : config_(parse_adapter_config(read_file(folder / kAdapterConfig),
                                   (folder / kAdapterConfig).string())) {
  const fs::path path = folder / kAdapterWeights;
  const SafetensorsFile file(path);
  const auto& stored = file.header().tensors;
  if (stored.empty()) throw InputError(path.string() + ": has no factors");
  std::set<std::string> left;  // stored factors that no weight of the model has used
  for (const auto& [name, tensor] : stored) left.insert(name);
  for (const auto& [name, weight] : model) {
    if (weight.dim() != 2 || !name.ends_with(kWeight)) continue;
    const auto a = stored.find(peft_name(name_of_a(name)));
    const auto b = stored.find(peft_name(name_of_b(name)));
    if (a == stored.end() && b == stored.end()) continue;
    const auto read = [&](const auto& found, const std::string& own, at::IntArrayRef shape) {
      if (found == stored.end()) throw InputError(path.string() + ": has no " + own);
      const at::Tensor view = stored_view(found->second, file.bytes(found->second), own);
      if (view.sizes() != shape) {
        throw InputError(path.string() + ": " + own + " is " + shape_text(view.sizes()) + ", and " +
                         shape_text(shape) + " by " + kAdapterConfig + " and the model");
      }
      left.erase(own);
      at::Tensor factor = view.to(weight.options(), /*non_blocking=*/false, /*copy=*/true);
      check_finite(factor, path.string() + ": " + own);
      return factor;
    };
    factors_[name] = {read(a, peft_name(name_of_a(name)), {config_.rank, weight.size(1)}),
                      read(b, peft_name(name_of_b(name)), {weight.size(0), config_.rank})};
  }
  if (left.empty()) return;
  throw InputError(path.string() + ": has " + *left.begin() + ", which the model has no place for");
}

std::string Adapter::name_of_a(const std::string& weight) {
  return without_ending(weight) + ".lora_A.weight";
}

std::string Adapter::name_of_b(const std::string& weight) {
  return without_ending(weight) + ".lora_B.weight";
}

Adapter::Parameters Adapter::parameters() const {
  Parameters out;
  for (const auto& [name, factors] : factors_) {
    out[name_of_a(name)] = factors.a;
    out[name_of_b(name)] = factors.b;
  }
  return out;
}

at::Tensor Adapter::adapted(const std::string& name, const at::Tensor& weight) const {
  const at::NoGradGuard guard;
  const Factors& factors = factors_.at(name);
  return at::addmm(weight.detach().to(at::kFloat), factors.b.to(at::kFloat),
                   factors.a.to(at::kFloat), /*beta=*/1, /*alpha=*/config_.scale())
      .to(weight.scalar_type());
}

void Adapter::save(const fs::path& folder, const std::string& base) const {
  std::error_code refused;
  fs::create_directories(folder, refused);
  if (refused) throw EnvironmentError(folder.string() + ": " + refused.message());
  TensorsToStore tensors;
  for (const auto& [name, factor] : parameters()) tensors.add(peft_name(name), factor);
  write_safetensors(folder / kAdapterWeights, tensors.list(), {{"format", "pt"}});
  std::ofstream out(folder / kAdapterConfig, std::ios::trunc);
  AdapterConfig config = config_;
  config.base = base;
  std::set<std::string> modules;
  for (const auto& [name, factors] : factors_) modules.insert(module_of(name));
  if (!(out << to_json(config, {modules.begin(), modules.end()}).dump(2) << "\n").flush()) {
    throw EnvironmentError((folder / kAdapterConfig).string() + ": cannot be written");
  }
}

}  // namespace kw
