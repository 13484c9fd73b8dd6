#include "eval/run/layers.h"

#include <array>
#include <optional>

#include "eval/run/figures.h"
#include "policy/text_rule.h"

namespace kw {
namespace {

enum Place { kRule, kOpinion, kCompile, kCoverage, kAllclose, kVerdict, kPlaces };
constexpr std::array<const char*, kPlaces> kNames = {"rule",     "opinion",  "compile",
                                                     "coverage", "allclose", "verdict"};

// Whether each layer passes a sample; empty if it has no result for it.
using Says = std::array<std::optional<bool>, kPlaces>;

Says says_of(const EvalRun& run, const Json& line, size_t number, const Opinion* opinion) {
  const Json& sample = line.at("samples")[number];
  Says out;
  const std::string end = "." + std::to_string(number) + ".fragment.py";
  if (const auto source = kept_file(run, line, end)) out[kRule] = text_rule(*source).empty();
  if (opinion && opinion->fault.empty()) out[kOpinion] = opinion->is_functional();
  const std::string at = string_at(sample, "rejected_at");
  const bool compiles = at != "load" && at != "record" && at != "compile";
  out[kCompile] = compiles;
  if (compiles) out[kCoverage] = at != "coverage";
  if (const Json passes = sample.value("allclose", Json()); passes.is_boolean()) {
    out[kAllclose] = passes.get<bool>();
  }
  out[kVerdict] = verdict_of(sample);
  return out;
}

}  // namespace

std::vector<Layer> layers_of(const EvalRun& run, const std::string& label,
                             const Opinions& opinions) {
  std::vector<Layer> all(kPlaces);
  for (size_t i = 0; i < kPlaces; ++i) all[i].name = kNames[i];
  for (const Json& line : run.lines) {
    if (line.value("label", "") != label) continue;
    const Json& samples = line.at("samples");
    for (size_t k = 0; k < samples.size(); ++k) {
      if (!verdict_of(samples[k])) continue;
      const auto found = opinions.find({line.at("model"), label, static_cast<int>(k)});
      const Says says = says_of(run, line, k, found == opinions.end() ? nullptr : &found->second);
      bool is_left = true;
      for (size_t i = 0; i < kPlaces; ++i) {
        Layer& layer = all[i];
        if (says[i]) {
          ++layer.known;
          layer.rejected += !*says[i];
          layer.rejected_accepted += !*says[i] && *says[kVerdict];
          layer.passed_rejected += *says[i] && !*says[kVerdict];
          layer.removed += is_left && !*says[i];
          is_left &= *says[i];
        }
        layer.left += is_left;
      }
    }
  }
  std::erase_if(all, [&](const Layer& layer) {
    return layer.known == 0 && (layer.name == kNames[kRule] || layer.name == kNames[kOpinion]);
  });
  return all;
}

Json to_json(const std::vector<Layer>& layers) {
  Json out = Json::array();
  for (const Layer& each : layers) {
    out.push_back({{"layer", each.name},
                   {"known", each.known},
                   {"removed", each.removed},
                   {"left", each.left},
                   {"rejected", each.rejected},
                   {"rejected_accepted", each.rejected_accepted},
                   {"passed_rejected", each.passed_rejected}});
  }
  return out;
}

}  // namespace kw
