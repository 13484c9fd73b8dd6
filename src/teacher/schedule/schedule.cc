#include "teacher/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <regex>

namespace kw::teacher {

Tiling parse_tiling(const std::string& text) {
  static const std::regex kBlock("([A-Z_]+)=([0-9]+)");
  Tiling out;
  for (std::sregex_iterator it(text.begin(), text.end(), kBlock), end; it != end; ++it) {
    out.blocks[(*it)[1]] = std::stoll((*it)[2]);
  }
  out.kind = std::regex_replace(text, kBlock, "");
  while (!out.kind.empty() && (out.kind.back() == ' ' || out.kind.back() == ',')) {
    out.kind.pop_back();
  }
  out.kind.erase(0, out.kind.find_first_not_of(' '));
  return out;
}

std::string schedule_name(const Choice& choice) {
  std::string out = choice.tiling + "; warps: " + std::to_string(choice.warps);
  if (choice.stages > 0) out += "; stages: " + std::to_string(choice.stages);
  return out;
}

std::map<std::string, double> features(const Choice& choice, const DeviceProfile& profile) {
  std::map<std::string, double> out;
  // Scaled to order 1, so that one ridge penalty suits all.
  auto power = [&](const std::string& name, double value) {
    const double x = std::log2(std::max(value, 1e-3)) / 4;
    out[name] = x;
    out[name + "^2"] = x * x;
  };
  const Tiling tiling = parse_tiling(choice.tiling);
  out["kind " + tiling.kind] = 1;
  if (choice.stages > 0) out["stages " + std::to_string(choice.stages)] = 1;
  double tile = 1;
  for (const auto& [name, size] : tiling.blocks) {
    power(name, static_cast<double>(size));
    if (name != "SPLITS" && name != "BLOCK_K") tile *= static_cast<double>(size);
  }
  power("warps", choice.warps);
  power("elements a thread", tile / (32.0 * choice.warps));
  power("programs an SM", static_cast<double>(choice.programs) / profile.sms);
  // The last wave of programs leaves SMs idle.
  const double waves = static_cast<double>(choice.programs) / profile.sms;
  out["idle share"] = 1 - waves / std::ceil(waves);
  return out;
}

Json schedule_to_json(const Choice& choice, const DeviceProfile& profile) {
  return {{"family", choice.family},
          {"class", choice.shape_class},
          {"name", schedule_name(choice)},
          {"model_seconds", choice.model_seconds},
          {"features", features(choice, profile)}};
}

}  // namespace kw::teacher
