#include "verify/baselines.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "formats/base/on_threads.h"
#include "formats/json.h"

namespace kw {
namespace {

constexpr std::chrono::minutes kBuildLimit{5};
constexpr double kCallSeconds = 3;  // for all rounds

Json request_json(const BaselineRequest& request, const std::string& package) {
  Json names = Json::array();
  for (const StateEntry& entry : request.state) names.push_back(entry.names);
  return {{"task", "package"},
          {"out", package},
          {"source", request.model.text},
          {"folder", request.model.folder.string()},
          {"class", request.model.cls},
          {"state", names},
          {"inputs", request.inputs},
          {"max_autotune", request.max_autotune}};
}

}  // namespace

Baselines::Baselines(const std::string& device, int parallel)
    : parallel_(parallel), server_(device, parallel) {}

std::vector<std::string> Baselines::build(const std::vector<BaselineRequest>& requests,
                                          const std::filesystem::path& folder) {
  std::vector<std::string> out(requests.size()), errors(requests.size());
  on_threads(parallel_, requests.size(), [&](size_t i) {
    const std::string package = (folder / ("reference" + std::to_string(i) + ".pt2")).string();
    errors[i] = server_.ask(request_json(requests[i], package), kBuildLimit);
    if (errors[i].empty()) out[i] = package;
  });
  for (size_t i = 0; i < requests.size(); ++i) {
    if (errors[i].empty()) continue;
    std::cerr << "note: no torch.compile baseline of " << requests[i].model.file << ": "
              << errors[i] << "\n";
  }
  return out;
}

CallTimes Baselines::time_calls(const RecordRequest& model, const std::string& python, bool compile,
                                const std::filesystem::path& folder) {
  CallTimes out;
  const std::string path = (folder / "calls.json").string();
  out.fault = server_.ask({{"task", "calls"},
                           {"out", path},
                           {"source", model.text},
                           {"folder", model.folder.string()},
                           {"class", model.cls},
                           {"optimized", python},
                           {"compile", compile},
                           {"seconds_to_measure", kCallSeconds}},
                          kBuildLimit);
  if (!out.fault.empty()) return out;
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Json times = parse_json(text, path);
  return call_times_from_json(JsonReader(times, path));
}

}  // namespace kw
