#include "eval/collect/collect.h"

#include <algorithm>
#include <cctype>

#include "eval/run/figures.h"
#include "formats/base/error.h"
#include "formats/base/sha256.h"
#include "policy/chat/conversation.h"

namespace kw {
namespace {

constexpr size_t kAlikeRun = 5;  // tokens

std::string route_of(const EvalRun& run, const Json& line) {
  const std::string label = line.value("label", "");
  if (!label.empty()) return label;
  const Json flags = run.asked.value("flags", Json::object());
  return flags.contains("--policy") ? flags["--policy"].back().get<std::string>() : "teacher";
}

std::string class_of(const EvalRun& run) {
  const Json flags = run.asked.value("flags", Json::object());
  return flags.contains("--class") ? flags["--class"].back().get<std::string>() : "Model";
}

// Returns why an answer was not accepted in full.
std::string fault_of(const Json& sample) {
  const Verdict::Outcome outcome = outcome_of(sample);
  if (outcome == Verdict::Outcome::kAccepted) return "judged by one trial";
  if (outcome == Verdict::Outcome::kNotJudged) return std::string(outcome_name(outcome));
  const std::string stage = string_at(sample, "rejected_at");
  return "rejected: " + (stage.empty() ? "?" : stage);
}

// Returns what is known of the answer's text. Runs of earlier versions say nothing of it.
FileDoes file_of(const Json& sample) {
  if (!sample.contains("file")) return FileDoes::kNotTried;
  return file_does_from_json(JsonReader(sample, "sample").at("file"));
}

// Returns the plan up to the point from which plan and code can be read back. A plan that was cut
// may end within a fence, which would otherwise go on to the code's fence.
std::string readable_plan(std::string plan, const std::string& code) {
  const auto reads_back = [&] {
    const std::string read = parse_answer(answer_text(plan, code)).source;
    return read == code || read == code + "\n";
  };
  for (size_t fence = plan.rfind("```"); fence != std::string::npos; fence = plan.rfind("```")) {
    if (reads_back()) break;
    plan.resize(fence);
  }
  return plan;
}

}  // namespace

std::vector<FoundTask> find_answers(const std::vector<EvalRun>& runs, Yields& yields,
                                    bool hybrids) {
  std::map<std::pair<std::string, std::string>, FoundTask> found;  // by text and class
  for (const EvalRun& run : runs) {
    if (run.folder.empty())
      throw InputError(
          run.name +
          " is a file of lines; give the folder that eval --out wrote, which has the samples");
    for (const Json& line : run.lines) {
      RouteYield& yield = yields[route_of(run, line)];
      ++yield.models;
      const Json& samples = line.at("samples");
      yield.answers += static_cast<int64_t>(samples.size());
      const auto text = kept_file(run, line, ".reference.py");
      if (!text) {
        yield.dropped["no file of the model"] += static_cast<int64_t>(samples.size());
        continue;
      }
      FoundTask& task = found[{*text, class_of(run)}];
      if (task.text.empty()) {
        task.text = *text;
        task.cls = class_of(run);
        task.name = line.at("model");
        task.level = line.value("level", "");
      }
      for (size_t i = 0; i < samples.size(); ++i) {
        const Json& sample = samples[i];
        const bool judged = outcome_of(sample) != Verdict::Outcome::kNotJudged;
        const bool right = verdict_of(sample) == true;
        task.judged += judged;
        task.right += right;
        const auto code =
            right ? kept_file(run, line, "." + std::to_string(i) + ".fragment.py") : std::nullopt;
        std::string fault = right ? "" : fault_of(sample);
        if (right && sample.contains("same_as") && !sample["same_as"].is_null()) {
          fault = "equal to another";
        } else if (right && sample.value("degenerate", false)) {
          fault = "the task is degenerate";
        } else if (right && !hybrids && number_at(sample, "share").value_or(1) < 1) {
          fault = "PyTorch does a part of the work";
        } else if (right && !code) {
          fault = "no file of the answer";
        } else if (right && sample.contains("sha256") && sample["sha256"] != sha256_hex(*code)) {
          fault = "the answer's file is not what was judged";
        }
        if (!fault.empty()) {
          ++yield.dropped[fault];
          continue;
        }
        const auto speedup = sample.contains("speedup_eager")
                                 ? number_at(sample["speedup_eager"], "estimate")
                                 : std::nullopt;
        task.answers.push_back({route_of(run, line), run.name, line.at("model"),
                                static_cast<int>(i), string_at(sample, "family"),
                                readable_plan(string_at(sample, "plan"), *code), *code, speedup,
                                string_at(sample, "program"), file_of(sample)});
      }
    }
  }
  std::vector<FoundTask> out;
  for (auto& [text, task] : found) out.push_back(std::move(task));
  std::ranges::stable_sort(out, {}, &FoundTask::name);
  return out;
}

void Keeper::hold_out(const std::string& structure, const std::string& text) {
  held_out_.insert(structure);
  texts_.add(text);
}

void Keeper::drop(const FoundTask& task, const std::string& reason) {
  for (const FoundAnswer& answer : task.answers) ++yields_[answer.route].dropped[reason];
}

std::vector<FoundAnswer> Keeper::keep(FoundTask task, const std::string& structure) {
  if (task.answers.empty()) return {};
  const auto none = [&](const char* reason) {
    drop(task, reason);
    return std::vector<FoundAnswer>();
  };
  if (held_out_.contains(structure)) return none("a held-out model's program, whatever its sizes");
  if (texts_.share_known(task.text) >= options_.known_text) return none("a held-out model's text");
  int& tasks = tasks_of_[structure];
  if (tasks >= options_.variants) return none("enough tasks of one structure");
  std::ranges::stable_sort(task.answers, std::ranges::greater(),
                           [](const FoundAnswer& answer) { return answer.speedup.value_or(0); });
  std::vector<FoundAnswer> kept;
  std::set<std::string> programs;
  std::vector<std::unordered_set<uint64_t>> runs;
  for (FoundAnswer& answer : task.answers) {
    RouteYield& yield = yields_[answer.route];
    if (options_.same_file && answer.file != FileDoes::kSame) {
      ++yield.dropped["its file is " + std::string(file_does_name(answer.file))];
      continue;
    }
    if (static_cast<int>(kept.size()) == options_.answers) {
      ++yield.dropped["enough answers of the task"];
      continue;
    }
    if (!answer.program.empty() && !programs.insert(answer.program).second) {
      ++yield.dropped["the program of another of the task"];
      continue;
    }
    auto own = token_runs(answer.code, kAlikeRun, /*any_names=*/true);
    const auto alike = [&](const auto& other) { return jaccard(own, other) >= options_.alike; };
    if (std::ranges::any_of(runs, alike)) {
      ++yield.dropped["like another of the task"];
      continue;
    }
    ++yield.kept;
    runs.push_back(std::move(own));
    kept.push_back(std::move(answer));
  }
  ++tasks;
  return kept;
}

int asked_name(const std::string& plan) {
  int least = -1;
  for (size_t at = 0; (at = plan.find('t', at)) != std::string::npos;) {
    const size_t begin = at++;
    const auto is_word = [&](size_t i) {
      return std::isalnum(static_cast<unsigned char>(plan[i])) || plan[i] == '_';
    };
    if (begin > 0 && is_word(begin - 1)) continue;
    int number = 0;
    while (at < plan.size() && std::isdigit(static_cast<unsigned char>(plan[at])) && number < 1000)
      number = 10 * number + (plan[at++] - '0');
    if (at == begin + 1 || (at < plan.size() && is_word(at))) continue;
    least = least < 0 ? number : std::min(least, number);
  }
  return least >= kAskedName ? kAskedName : 0;
}

std::string difficulty(const FoundTask& task) {
  if (3 * task.right >= 2 * task.judged) return "easy";
  return 3 * task.right >= task.judged ? "medium" : "hard";
}

Json yields_json(const Yields& yields) {
  Json out = Json::object();
  for (const auto& [route, yield] : yields) {
    out[route] = {{"models", yield.models},
                  {"answers", yield.answers},
                  {"kept", yield.kept},
                  {"dropped", yield.dropped}};
  }
  return out;
}

}  // namespace kw
