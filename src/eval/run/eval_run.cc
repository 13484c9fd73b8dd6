#include "eval/run/eval_run.h"

#include <algorithm>
#include <map>

#include "eval/run/eval_summary.h"
#include "eval/run/figures.h"
#include "formats/base/error.h"
#include "formats/base/read_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::string label_of(const Json& line) { return line.value("label", ""); }

bool has_flag(const EvalRun& run, const char* flag) {
  const Json flags = run.asked.value("flags", Json::object());
  return flags.contains(flag) && flags[flag] != Json{"false"};
}

std::string csv_cell(std::string text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, "\"");
  return '"' + text + '"';
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) out += (&cell == cells.data() ? "" : ",") + csv_cell(cell);
  return out + "\r\n";
}

void add_interval(const Json& interval, std::vector<std::string>& cells) {
  for (const char* end : {"estimate", "lower", "upper"}) {
    const auto x = number_at(interval, end);
    cells.push_back(x ? Json(*x).dump() : "");
  }
}

std::string word(const Json& json, const char* key) { return string_at(json, key); }

std::string value_text(const Json& flags, const std::string& flag) {
  if (!flags.contains(flag)) return "not given";
  std::string out;
  for (const Json& word : flags.at(flag)) {
    out += (out.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : word.dump());
  }
  return out.empty() ? "given" : out;
}

}  // namespace

std::string asked_difference(const Json& there, const Json& here) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const Json before = there.value("flags", Json::object()),
             now = here.value("flags", Json::object());
  Json all = before;
  all.update(now);
  for (const auto& [flag, value] : all.items()) {
    const std::string was = value_text(before, flag), is = value_text(now, flag);
    if (was != is) add(flag + " (" + was + " there, " + is + " here)");
  }
  for (const char* what : {"backend", "device", "versions"}) {
    if (there.value(what, Json()) == here.value(what, Json())) continue;
    add(std::string(what) + " (" + there.value(what, Json()).dump() + " there, " +
        here.value(what, Json()).dump() + " here)");
  }
  if (there.value("models", Json()) != here.value("models", Json())) add("the models' texts");
  if (there.value("policies", Json()) != here.value("policies", Json())) {
    add("what the policies are (a model's weights, a schedule table, answers)");
  }
  return out;
}

EvalLinesText parse_eval_lines(const std::string& text, const std::string& what) {
  EvalLinesText out;
  size_t begin = 0;
  for (size_t number = 1, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1, ++number) {
    Json line = Json::parse(text.substr(begin, end - begin), nullptr, /*allow_exceptions=*/false);
    if (number == 1) {
      if (!line.is_object() || !line.contains("eval") || !line["eval"].is_object() ||
          !line["eval"].value("flags", Json::object()).is_object()) {
        throw InputError(what + ": is no file of eval's lines");
      }
      out.asked = std::move(line["eval"]);
      continue;
    }
    const std::string place = what + ":" + std::to_string(number);
    try {  // what summaries, pages and tables read is there, and as it should be
      const JsonReader in(line, "line");
      in.at("model").string();
      if (in.has("label")) in.at("label").string();
      for (const JsonReader& sample : in.at("samples").items())
        (void)outcome_from_json(sample.at("outcome"));
      (void)answers_of(in);
    } catch (const InputError& error) {
      throw InputError(place + ": is no line of a model (" + error.what() + ")");
    }
    out.lines.push_back(std::move(line));
  }
  return out;
}

EvalRun read_eval_run(const fs::path& path) {
  EvalRun run;
  run.name = path.string();
  const bool is_folder = fs::is_directory(path);
  const fs::path file = is_folder ? path / kEvalLinesFile : path;
  run.folder = is_folder ? path : path.filename() == kEvalLinesFile ? path.parent_path() : "";
  if (path.filename() == kEvalLinesFile && run.folder.empty()) run.folder = ".";
  if (is_folder && !fs::exists(file)) {
    throw InputError(path.string() + ": has no " + kEvalLinesFile +
                     "; a run is a folder that eval --out left, or a file of eval --lines");
  }
  EvalLinesText text = parse_eval_lines(read_file(file, kMostLines), file.string());
  if (text.asked.is_null()) throw InputError(file.string() + ": is no file of eval's lines");
  if (text.lines.empty())
    throw InputError(file.string() + ": has no models yet (of a run with --lines, name that file)");
  run.asked = std::move(text.asked);
  std::map<std::string, std::map<std::string, Json>> last;  // by model, by label
  for (Json& line : text.lines) {
    const std::string label = label_of(line);
    if (std::find(run.labels.begin(), run.labels.end(), label) == run.labels.end()) {
      run.labels.push_back(label);
    }
    Json& known = last[line["model"]][label];
    known = std::move(line);
  }
  // Labels are in the order in which they were asked for: others are compared with the first one.
  const Json asked_labels = run.asked.value("labels", Json());
  const auto place = [&](const std::string& label) {
    return std::find(asked_labels.begin(), asked_labels.end(), Json(label)) - asked_labels.begin();
  };
  if (asked_labels.is_array()) std::ranges::stable_sort(run.labels, {}, place);
  for (auto& [model, lines] : last) {
    for (const std::string& label : run.labels) {
      if (const auto found = lines.find(label); found != lines.end()) {
        run.lines.push_back(std::move(found->second));
      }
    }
  }
  return run;
}

std::optional<std::string> kept_file(const EvalRun& run, const Json& line, const std::string& end) {
  const std::string files = string_at(line, "files");
  if (run.folder.empty() || files.empty()) return {};
  const fs::path relative = fs::path(files + end).lexically_normal();
  if (relative.is_absolute() || *relative.begin() == "..") return {};
  // A link may lead elsewhere, and a pipe has no end.
  const fs::path file = run.folder / relative;
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error || !fs::is_regular_file(fs::symlink_status(file)) ||
      *real.lexically_relative(fs::canonical(run.folder)).begin() == "..") {
    return {};
  }
  return read_file(file, kMostSource);
}

std::string policy_name(const EvalRun& run, const std::string& label) {
  if (!label.empty()) return label;
  const Json labels = run.asked.value("labels", Json());
  const bool is_named = labels.is_array() && !labels.empty() && labels[0].is_string();
  return is_named ? labels[0].get<std::string>() : "the policy";
}

Verdict::Outcome outcome_of(const Json& sample) {
  return outcome_from_json(JsonReader(sample, "sample").at("outcome"));
}

std::optional<bool> verdict_of(const Json& sample) {
  const Verdict::Outcome outcome = outcome_of(sample);
  if (outcome == Verdict::Outcome::kRejected) return false;
  const bool in_full = sample.value("in_full", Json()) == true;
  return outcome == Verdict::Outcome::kAccepted && in_full ? std::optional(true) : std::nullopt;
}

MetricsOptions metrics_options(const EvalRun& run) {
  MetricsOptions out;
  if (has_flag(run, "--until-accepted")) out.judged = MetricsOptions::Judged::kUntilCorrect;
  if (has_flag(run, "--side-by-side")) out.judged = MetricsOptions::Judged::kFastest;
  size_t most = 1;
  for (const Json& line : run.lines) most = std::max(most, line.at("samples").size());
  out.pass_at.clear();
  for (size_t k = 1; k <= most; ++k) out.pass_at.push_back(static_cast<int>(k));
  return out;
}

void refuse_search(const EvalRun& run) {
  if (!has_flag(run, "--search")) return;
  throw InputError(run.name + ": is a run of --search, which keeps no answers to whole tasks");
}

bool is_timed(const EvalRun& run) {
  return string_at(run.asked, "backend") != "cpu" && !has_flag(run, "--no-time");
}

std::vector<TaskAnswers> answers_of(const EvalRun& run, const std::string& label) {
  std::vector<TaskAnswers> out;
  for (const Json& line : run.lines) {
    if (label_of(line) != label) continue;
    out.push_back(answers_of(JsonReader(line, run.name)));
  }
  return out;
}

std::vector<RunMetrics> measure_run(const EvalRun& run) {
  const MetricsOptions options = metrics_options(run);
  const bool timed = is_timed(run);
  const auto measured = [&](const std::vector<TaskAnswers>& tasks) {
    Metrics out = measure(tasks, options);
    if (!timed) out.eager.reset();
    if (!timed || !has_flag(run, "--baseline")) out.compile.reset();
    return out;
  };
  std::vector<RunMetrics> out;
  for (const std::string& label : run.labels) {
    std::map<std::string, std::vector<TaskAnswers>> levels;
    std::vector<TaskAnswers> all;
    for (const Json& line : run.lines) {
      if (label_of(line) != label) continue;
      all.push_back(answers_of(JsonReader(line, run.name)));
      levels[string_at(line, "level")].push_back(all.back());
    }
    out.push_back({label, {}, measured(all)});
    if (levels.size() < 2) continue;
    for (const auto& [level, answers] : levels) out.push_back({label, level, measured(answers)});
  }
  return out;
}

std::string eval_csv(const EvalRun& run) {
  const std::vector<std::string> columns = {"model",
                                            "level",
                                            "policy",
                                            "model_outcome",
                                            "sample",
                                            "outcome",
                                            "rejected_at",
                                            "reason",
                                            "degenerate",
                                            "in_full",
                                            "allclose",
                                            "share",
                                            "same_as",
                                            "over_eager",
                                            "over_eager_lower",
                                            "over_eager_upper",
                                            "over_compile",
                                            "over_compile_lower",
                                            "over_compile_upper",
                                            "family",
                                            "plan"};
  std::string out = csv_row(columns);
  for (const Json& line : run.lines) {
    const std::vector<std::string> model = {word(line, "model"), word(line, "level"),
                                            policy_name(run, label_of(line)),
                                            word(line, "outcome")};
    size_t number = 0;
    for (const Json& sample : line.at("samples")) {
      std::vector<std::string> cells = model;
      cells.push_back(std::to_string(number++));
      for (const char* key : {"outcome", "rejected_at", "reason"}) {
        cells.push_back(word(sample, key));
      }
      cells.push_back(sample.value("degenerate", Json()) == true ? "true" : "false");
      for (const char* key : {"in_full", "allclose", "share", "same_as"}) {
        const Json value = sample.value(key, Json());
        cells.push_back(value.is_null() ? "" : value.dump());
      }
      for (const char* key : {"speedup_eager", "speedup_compile"}) {
        add_interval(sample.value(key, Json()), cells);
      }
      cells.push_back(word(sample, "family"));
      const std::string plan = word(sample, "plan");
      cells.push_back(plan.substr(0, plan.find_last_not_of(" \t\r\n") + 1));
      out += csv_row(cells);
    }
    if (number > 0) continue;
    std::vector<std::string> cells = model;
    cells.insert(cells.end(), {"", "", "", word(line, "reason")});
    cells.resize(columns.size());
    out += csv_row(cells);
  }
  return out;
}

}  // namespace kw
