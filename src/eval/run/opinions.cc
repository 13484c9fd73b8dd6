#include "eval/run/opinions.h"

#include <cstdio>

#include "eval/run/figures.h"
#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

void add(const Json& sample, const Opinion* opinion, Agreement& to) {
  const std::optional<bool> verdict = verdict_of(sample);
  if (!verdict) {
    ++to.no_verdict;
    return;
  }
  if (!opinion || !opinion->fault.empty()) {
    ++to.no_opinion;
    return;
  }
  to.delegates += opinion->delegates;
  to.omits += opinion->omits;
  to.hard_codes += opinion->hard_codes;
  const bool functional = opinion->is_functional();
  if (*verdict) {
    ++(functional ? to.accepted_functional : to.accepted_not);
    return;
  }
  ++(functional ? to.rejected_functional : to.rejected_not);
  auto& [yes, no] = to.by_stage[string_at(sample, "rejected_at")];
  ++(functional ? yes : no);
}

// Returns the digests of the samples whose text was kept.
std::map<SampleKey, std::string> digests_of(const EvalRun& run) {
  std::map<SampleKey, std::string> out;
  for (const Json& line : run.lines) {
    for (size_t i = 0; i < line.at("samples").size(); ++i) {
      const auto text = kept_file(run, line, "." + std::to_string(i) + ".fragment.py");
      if (!text) continue;
      out[{line.at("model"), line.value("label", ""), static_cast<int>(i)}] = sha256_hex(*text);
    }
  }
  return out;
}

}  // namespace

std::string opinion_line(const SampleKey& key, const Opinion& opinion, std::string_view candidate) {
  Json out = {{"model", key.model},
              {"label", key.label},
              {"sample", key.sample},
              {"candidate", sha256_hex(candidate)},
              {"judge", opinion.reviewer}};
  if (!opinion.fault.empty()) {
    out["fault"] = opinion.fault;
  } else {
    out.update(Json{{"delegation", opinion.delegates},
                    {"omitted_component", opinion.omits},
                    {"hard_coded_output", opinion.hard_codes},
                    {"why", opinion.why}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Opinions read_opinions(const EvalRun& run) {
  Opinions out;
  const fs::path file = run.folder / kOpinionsFile;
  if (run.folder.empty() || !fs::exists(file)) return out;
  const std::map<SampleKey, std::string> digests = digests_of(run);
  const std::string text = read_file(file, kMostLines);
  size_t number = 0;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string place = file.string() + ":" + std::to_string(++number);
    const Json line = parse_json(std::string_view(text).substr(at, end - at), place);
    const JsonReader in(line, place);
    const SampleKey key{in.at("model").string(), in.at("label").string(),
                        static_cast<int>(in.at("sample").integer(0, 1 << 20))};
    const auto digest = digests.find(key);
    const std::string text = in.has("candidate") ? in.at("candidate").string() : "";
    if (digest == digests.end() || digest->second != text) continue;
    Opinion& known = out.try_emplace(key, Opinion{.fault = "no line"}).first->second;
    Opinion opinion;
    opinion.reviewer = in.at("judge").string();
    if (in.has("fault")) {
      opinion.fault = in.at("fault").string();
      if (!known.fault.empty()) known = std::move(opinion);
      continue;
    }
    opinion.delegates = in.at("delegation").boolean();
    opinion.omits = in.at("omitted_component").boolean();
    opinion.hard_codes = in.at("hard_coded_output").boolean();
    opinion.why = in.at("why").string();
    known = std::move(opinion);
  }
  return out;
}

double Agreement::share() const {
  return static_cast<double>(accepted_functional + rejected_not) / static_cast<double>(both());
}

std::optional<double> Agreement::kappa() const {
  const auto n = static_cast<double>(both());
  const auto accepted = static_cast<double>(accepted_functional + accepted_not);
  const auto functional = static_cast<double>(accepted_functional + rejected_functional);
  const double chance = (accepted * functional + (n - accepted) * (n - functional)) / (n * n);
  if (chance >= 1) return {};
  return (share() - chance) / (1 - chance);
}

Agreement agreement_of(const EvalRun& run, const std::string& label, const Opinions& opinions) {
  Agreement out;
  for (const Json& line : run.lines) {
    if (line.value("label", "") != label) continue;
    const Json& samples = line.at("samples");
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto found = opinions.find({line.at("model"), label, static_cast<int>(i)});
      add(samples[i], found == opinions.end() ? nullptr : &found->second, out);
    }
  }
  return out;
}

std::string agreement_text(const std::string& label, const Agreement& one) {
  std::string out = label.empty() ? "" : label + "\n";
  char line[200];
  std::snprintf(line, sizeof(line), "%-22s %10s %10s\n", "", "accepted", "rejected");
  out += line;
  std::snprintf(line, sizeof(line), "%-22s %10zu %10zu\n", "called functional",
                one.accepted_functional, one.rejected_functional);
  out += line;
  std::snprintf(line, sizeof(line), "%-22s %10zu %10zu\n", "called not functional",
                one.accepted_not, one.rejected_not);
  out += line;
  for (const auto& [stage, counts] : one.by_stage) {
    std::snprintf(line, sizeof(line), "  rejected at %s: %zu functional, %zu not\n", stage.c_str(),
                  counts.first, counts.second);
    out += line;
  }
  if (one.both() > 0) {
    char kappa[32] = "not defined";
    if (const auto known = one.kappa()) std::snprintf(kappa, sizeof(kappa), "%.2f", *known);
    std::snprintf(line, sizeof(line), "agreement %.0f %%, kappa %s, of %s", 100 * one.share(),
                  kappa, count_text(one.both(), "sample").c_str());
    out += line;
  }
  std::snprintf(line, sizeof(line), "%s%zu without an opinion, %zu without a verdict\n",
                one.both() > 0 ? "; " : "", one.no_opinion, one.no_verdict);
  return out + line;
}

Json to_json(const Agreement& one) {
  Json stages = Json::object();
  for (const auto& [stage, counts] : one.by_stage) {
    stages[stage] = {{"functional", counts.first}, {"not_functional", counts.second}};
  }
  const auto kappa = one.both() > 0 ? one.kappa() : std::nullopt;
  return {{"accepted_functional", one.accepted_functional},
          {"accepted_not_functional", one.accepted_not},
          {"rejected_functional", one.rejected_functional},
          {"rejected_not_functional", one.rejected_not},
          {"no_opinion", one.no_opinion},
          {"no_verdict", one.no_verdict},
          {"rejected_at", stages},
          {"delegation", one.delegates},
          {"omitted_component", one.omits},
          {"hard_coded_output", one.hard_codes},
          {"agreement", one.both() > 0 ? Json(one.share()) : Json()},
          {"kappa", kappa ? Json(*kappa) : Json()}};
}

}  // namespace kw
