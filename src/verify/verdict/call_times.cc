#include "verify/verdict/call_times.h"

#include <cstdio>

namespace kw {

std::string CallTimes::best_other() const {
  std::string best;
  for (const char* name : {"eager", "compile", "reduce_overhead"}) {
    const auto found = times.find(name);
    if (found == times.end()) continue;
    if (best.empty() || found->second.wall < times.at(best).wall) best = name;
  }
  return best;
}

double CallTimes::over_best() const {
  const auto ours = times.find("called");
  const std::string best = best_other();
  if (ours == times.end() || best.empty()) return 0;
  return ours->second.over_eager / times.at(best).over_eager;
}

bool CallTimes::is_no_gain() const {
  const auto ours = times.find("called");
  return ours != times.end() && ours->second.over_eager <= 1;
}

Json to_json(const CallTimes& times) {
  Json out = {{"times", Json::object()},
              {"absent", times.absent},
              {"called_by", times.by_graph ? "graph" : "launches"},
              {"fault", times.fault}};
  for (const auto& [name, time] : times.times) {
    out["times"][name] = {{"wall", time.wall},
                          {"latency", time.latency},
                          {"host", time.host},
                          {"over_eager", time.over_eager}};
  }
  return out;
}

CallTimes call_times_from_json(const JsonReader& in) {
  CallTimes out;
  for (const auto& [name, value] : in.at("times").members()) {
    out.times[name] = {value.at("wall").number(), value.at("latency").number(),
                       value.at("host").number(), value.at("over_eager").number()};
  }
  for (const auto& [name, why] : in.at("absent").members()) out.absent[name] = why.string();
  out.by_graph = in.at("called_by").string() == "graph";
  if (in.has("fault")) out.fault = in.at("fault").string();
  return out;
}

std::string contestant_name(const std::string& key) {
  if (key == "eager") return "eager PyTorch";
  if (key == "compile") return "torch.compile";
  if (key == "reduce_overhead") return "torch.compile (reduce-overhead)";
  if (key == "launches" || key == "graph") return "ours by " + key;
  return key;
}

std::string call_times_text(const CallTimes& times) {
  if (!times.fault.empty()) return "not timed as Python calls it: " + times.fault;
  if (times.over_best() == 0) {
    const auto why = times.absent.find("called");
    return "not timed as Python calls it" + (why == times.absent.end() ? "" : ": " + why->second);
  }
  char text[256];
  std::snprintf(text, sizeof text, "as Python calls it: %.2fx of %s (%.3f ms, by %s)",
                times.over_best(), contestant_name(times.best_other()).c_str(),
                1e3 * times.times.at("called").wall, times.by_graph ? "a CUDA graph" : "launches");
  return text;
}

}  // namespace kw
