#include "report/eval_page.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "eval/run/eval_run.h"
#include "eval/run/run_comparison.h"
#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/scratch_folder.h"
#include "formats/base/sha256.h"
#include "report/test_strict_reader.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

Json sample(bool accepted, double speedup) {
  return {{"outcome", accepted ? "accepted" : "rejected"},
          {"in_full", accepted},
          {"rejected_at", accepted ? Json() : Json("correct")},
          {"reason", accepted ? "" : "off by <b>much</b>, \"they\" say"},
          {"degenerate", false},
          {"family", "f"},
          {"plan", "a plan"},
          {"same_as", nullptr},
          {"speedup_eager",
           speedup > 0 ? Json{{"estimate", speedup}, {"lower", 0.9 * speedup}, {"upper", speedup}}
                       : Json()},
          {"speedup_compile", nullptr}};
}

Json line(const std::string& model, const std::vector<Json>& samples,
          const std::string& level = "") {
  bool right = false;
  for (const Json& each : samples) right = right || each["outcome"] == "accepted";
  Json out = {{"model", model},
              {"outcome", right ? "verified" : "rejected"},
              {"reason", ""},
              {"samples", samples},
              {"files", fs::path(model).replace_extension().string()}};
  if (!level.empty()) out["level"] = level;
  return out;
}

const Json kFirst = {{"eval",
                      {{"flags", {{"--samples", {"2"}}}},
                       {"backend", "cuda"},
                       {"device", "NVIDIA H200"},
                       {"policies", {{"a policy", "print"}}}}}};

fs::path written(const ScratchFolder& folder, const std::vector<Json>& lines,
                 const std::string& name = kEvalLinesFile) {
  const fs::path file = folder.path() / name;
  std::ofstream out(file);
  out << kFirst.dump() << "\n";
  for (const Json& each : lines) out << each.dump() << "\n";
  return file;
}

const std::vector<Json> kLines = {
    line("z.py", {sample(true, 2), sample(false, 0)}, "level1"),
    line("y.py", {sample(false, 0), sample(false, 0)}, "level2"),
    line("x.py", {sample(true, 0.5), sample(true, 8)}, "level2"),
};

std::string page_of(const ScratchFolder& folder) {
  const EvalRun run = read_eval_run(folder.path());
  return eval_page(report_on(run));
}

TEST(EvalRun, MeasuresAllAndEachLevel) {
  const ScratchFolder folder;
  written(folder, kLines);
  const EvalRun run = read_eval_run(folder.path());
  ASSERT_EQ(run.lines.size(), 3u);
  EXPECT_EQ(run.lines[0]["model"], "x.py");
  const std::vector<RunMetrics> all = measure_run(run);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_FALSE(all[0].level);
  EXPECT_EQ(all[0].metrics.tasks, 3u);
  // Of two samples each, 1, 0 and 2 are right.
  EXPECT_DOUBLE_EQ(all[0].metrics.pass_at.at(1)->value, (0.5 + 0 + 1) / 3);
  EXPECT_DOUBLE_EQ(all[0].metrics.pass_at.at(2)->value, 2.0 / 3);
  EXPECT_DOUBLE_EQ(all[0].metrics.eager->geometric_mean_right->value, 4);  // of 2 and 8
  EXPECT_EQ(*all[2].level, "level2");
  EXPECT_DOUBLE_EQ(all[2].metrics.solved->value, 0.5);
}

TEST(EvalRun, LaterLinesStandForEarlierOnes) {
  const ScratchFolder folder;
  written(folder, {line("x.py", {sample(false, 0)}), line("x.py", {sample(true, 3)})});
  const EvalRun run = read_eval_run(folder.path());
  ASSERT_EQ(run.lines.size(), 1u);
  EXPECT_EQ(run.lines[0]["outcome"], "verified");
}

TEST(EvalRun, WhatIsNone) {
  const ScratchFolder folder;
  EXPECT_THROW(read_eval_run(folder.path()), InputError);  // no lines.jsonl
  written(folder, {});
  EXPECT_THROW(read_eval_run(folder.path()), InputError);  // no models
  written(folder, {{{"model", "x.py"}, {"outcome", "verified"}}});
  EXPECT_THROW(read_eval_run(folder.path()), InputError);  // no samples
  written(folder, {{{"model", 3}}});
  EXPECT_THROW(read_eval_run(folder.path()), InputError);
  std::ofstream(folder.path() / "other.jsonl") << "{\"task\": 1}\n{\"model\": \"x\"}\n";
  EXPECT_THROW(read_eval_run(folder.path() / "other.jsonl"), InputError);
}

TEST(EvalRun, KeptFilesAreThoseOfTheRunsFolder) {
  const ScratchFolder folder;
  fs::create_directories(folder.path() / "run");
  std::ofstream(folder.path() / "secret.reference.py") << "secret";
  std::ofstream(folder.path() / "run" / "x.reference.py") << "kept";
  EvalRun run;
  run.folder = folder.path() / "run";
  EXPECT_EQ(kept_file(run, {{"files", "x"}}, ".reference.py"), "kept");
  for (const std::string& bad : {std::string("../secret"), std::string("a/../../secret"),
                                 (folder.path() / "secret").string(), std::string("missing")}) {
    EXPECT_FALSE(kept_file(run, {{"files", bad}}, ".reference.py")) << bad;
  }
  EXPECT_FALSE(kept_file(run, {{"files", 3}}, ".reference.py"));
  fs::create_symlink(folder.path() / "secret.reference.py", run.folder / "link.reference.py");
  fs::create_directory_symlink(folder.path(), run.folder / "up");
  ASSERT_EQ(::mkfifo((run.folder / "pipe.reference.py").c_str(), 0600), 0);
  for (const char* bad : {"link", "up/secret", "pipe"}) {
    EXPECT_FALSE(kept_file(run, {{"files", bad}}, ".reference.py")) << bad;
  }
}

// A reader of RFC 4180 of the test's own.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\r') {
      if (++i + 1 < text.size()) rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  return rows;
}

TEST(EvalRun, AsATable) {
  const ScratchFolder folder;
  std::vector<Json> lines = kLines;
  lines.push_back(line("refused.py", {}));
  lines.back()["outcome"] = "refused";
  lines.back()["reason"] = "no kernel, no answer";
  written(folder, lines);
  const std::string table = eval_csv(read_eval_run(folder.path()));
  EXPECT_TRUE(table.starts_with(kSampleTable.mark));  // by which a later one may replace it
  const auto rows = read_csv(table);
  ASSERT_EQ(rows.size(), 1u + 6 + 1);
  for (const auto& row : rows) ASSERT_EQ(row.size(), rows[0].size());
  const auto column = [&](const std::string& name) {
    return static_cast<size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  };
  EXPECT_EQ(rows[1][column("model")], "refused.py");
  EXPECT_EQ(rows[1][column("reason")], "no kernel, no answer");
  EXPECT_EQ(rows[3][column("model")], "x.py");
  EXPECT_EQ(std::stod(rows[3][column("over_eager")]), 8);
  EXPECT_EQ(rows[4][column("reason")], kLines[1]["samples"][0]["reason"].get<std::string>());
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i][column("policy")], "the policy");
  EXPECT_EQ(rows[3][column("in_full")], "true");
}

TEST(EvalRun, WhatWasGivenAsFalseWasNotGiven) {
  EvalRun run;
  run.asked = {{"flags", {{"--until-accepted", {"false"}}}}};
  EXPECT_EQ(metrics_options(run).judged, MetricsOptions::Judged::kAll);
  run.asked["flags"]["--until-accepted"] = {"true"};
  EXPECT_EQ(metrics_options(run).judged, MetricsOptions::Judged::kUntilCorrect);
  run.asked["flags"]["--until-accepted"] = Json::array();
  EXPECT_EQ(metrics_options(run).judged, MetricsOptions::Judged::kUntilCorrect);
}

TEST(EvalPage, AFirstLookIsNoVerdict) {
  const ScratchFolder folder;
  Json looked = sample(true, 3);
  looked["in_full"] = false;
  written(folder, {line("x.py", {sample(true, 1.5), looked})});
  const std::string page = page_of(folder);
  EXPECT_NE(page.find(">1/2<"), std::string::npos);
  EXPECT_NE(page.find("1.50×"), std::string::npos);
  EXPECT_EQ(page.find("3.00×"), std::string::npos);
}

TEST(EvalPage, SaysWhatTheAnswersFileDoes) {
  const ScratchFolder folder;
  Json same = sample(true, 1), other = same, not_tried = same;
  same["file"] = "same";
  same["program"] = "abc";
  other["file"] = "other";
  other["file_reason"] = "call 3: off by <b>much</b>";
  not_tried["file"] = "not tried";
  not_tried["file_reason"] = "it wants a GPU";
  written(folder, {line("x.py", {same, other, not_tried})});
  const std::string page = page_of(folder);
  EXPECT_NE(page.find("sample 0: accepted, and its own file does the same<"), std::string::npos);
  EXPECT_NE(page.find("sample 1: accepted, but its own file does something else<"),
            std::string::npos);
  EXPECT_NE(page.find("sample 2: accepted<"), std::string::npos);
  EXPECT_NE(page.find("call 3: off by &lt;b&gt;much"), std::string::npos);
  EXPECT_EQ(page.find("it wants a GPU"), std::string::npos);
  EXPECT_NE(page.find("Program abc<"), std::string::npos);
}

TEST(RunComparison, IsOfModelsThatBothHave) {
  const ScratchFolder a, b;
  written(a, kLines);
  written(b, {line("z.py", {sample(false, 0), sample(false, 0)}),
              line("x.py", {sample(true, 4), sample(true, 4)}), line("w.py", {sample(true, 9)})});
  const auto found = compare_runs(read_eval_run(a.path()), read_eval_run(b.path()));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tasks, 2u);
  EXPECT_EQ(found[0].left_out, 2u);                          // y.py and w.py
  EXPECT_DOUBLE_EQ(found[0].comparison.solved->value, 0.5);  // z.py of two
  EXPECT_DOUBLE_EQ(found[0].comparison.pass_at.at(1)->value, 0.25);
  EXPECT_DOUBLE_EQ(found[0].comparison.speedup->value, 2);  // z: 2 and 1, x: 8 and 4
  std::vector<Json> others = kLines;                        // another program under x.py's name
  for (Json& each : others) each["task"] = each["model"] == "x.py" ? "b" : "a";
  written(b, others);
  for (Json& each : others) each["task"] = "a";
  written(a, others);
  const auto apart = compare_runs(read_eval_run(a.path()), read_eval_run(b.path()));
  EXPECT_EQ(apart[0].tasks, 2u);
  EXPECT_EQ(apart[0].left_out, 1u);  // x.py
  const ScratchFolder other;
  written(other, {line("q.py", {sample(true, 1)})});
  EXPECT_THROW(compare_runs(read_eval_run(a.path()), read_eval_run(other.path())), InputError);
}

std::string hex_of_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits, hex;
  for (char c : text) {
    if (c == '=') continue;
    const size_t value = digits.find(c);
    for (int bit = 5; bit >= 0; --bit) bits += value >> bit & 1 ? '1' : '0';
  }
  for (size_t at = 0; at < 256 && at + 4 <= bits.size(); at += 4) {
    hex += "0123456789abcdef"[std::stoi(bits.substr(at, 4), nullptr, 2)];
  }
  return hex;
}

TEST(RunComparison, AModelThatIsAnotherProgramIsLeftOutOnce) {
  const ScratchFolder a, b;
  std::vector<Json> lines = kLines;
  for (Json& each : lines) each["task"] = "a";
  written(a, lines);
  lines[0]["task"] = "b";
  written(b, lines);
  const auto found = compare_runs(read_eval_run(a.path()), read_eval_run(b.path()));
  EXPECT_EQ(found.at(0).tasks, 2u);
  EXPECT_EQ(found.at(0).left_out, 1u);
}

// A policy that was judged alone has no label. Its name is in the first line, among the settings.
TEST(RunComparison, APolicyAloneIsTheOneOfItsName) {
  const ScratchFolder several, alone;
  std::vector<Json> lines;
  for (const Json& each : kLines) {
    for (const char* label : {"x", "teacher"}) {
      lines.push_back(each);
      lines.back()["label"] = label;
    }
  }
  const auto named = [](const ScratchFolder& folder, const std::vector<std::string>& labels) {
    const fs::path file = folder.path() / kEvalLinesFile;
    Json first = kFirst;
    first["eval"]["labels"] = labels;
    const std::string text = read_file(file);
    std::ofstream(file) << first.dump() << text.substr(text.find('\n'));
    return read_eval_run(folder.path());
  };
  written(several, lines);
  written(alone, kLines);
  const EvalRun ours = named(several, {"x", "teacher"});
  const auto found = compare_runs(ours, named(alone, {"teacher"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ours, "teacher");
  EXPECT_EQ(found[0].tasks, 3u);
  written(alone, kLines);
  const EvalRun other = named(alone, {"inductor"});
  EXPECT_THROW(compare_runs(ours, other), InputError);
  const auto paired = compare_runs(ours, other, {{"x", "inductor"}, {"teacher", "inductor"}});
  ASSERT_EQ(paired.size(), 2u);
  EXPECT_EQ(paired[0].ours + " " + paired[0].theirs, "x inductor");
  EXPECT_EQ(paired[1].ours, "teacher");
  EXPECT_THROW(compare_runs(ours, other, {{"x", "teacher"}}), InputError);
}

TEST(RunComparison, FurtherPoliciesAreComparedWithTheFirst) {
  const ScratchFolder folder;
  std::vector<Json> lines;
  for (const Json& each : kLines) {
    const Json& samples = each["samples"];
    lines.insert(lines.end(), {each, each, each});
    lines[lines.size() - 3]["label"] = "first";
    Json& second = lines[lines.size() - 2];  // right each time, by its first sample alone
    second["label"] = "second";
    second["samples"] = {sample(true, 2)};
    Json& third = lines.back();  // of other models
    third["label"] = "third";
    third["model"] = "another " + each["model"].get<std::string>();
    EXPECT_EQ(samples.size(), 2u);
  }
  written(folder, lines);
  // Lines of refused models come first, in whatever order the policies were asked.
  const fs::path file = folder.path() / kEvalLinesFile;
  std::string text = read_file(file);
  Json first = kFirst;
  first["eval"]["labels"] = {"first", "second", "third"};
  const std::string refused = line("a.py", {sample(false, 0)}).dump();
  Json early = Json::parse(refused);
  early["label"] = "third";
  text = first.dump() + "\n" + early.dump() + "\n" + text.substr(text.find('\n') + 1);
  std::ofstream(file) << text;
  const EvalReport report = report_on(read_eval_run(folder.path()));
  EXPECT_EQ(report.run.labels, (std::vector<std::string>{"first", "second", "third"}));
  ASSERT_EQ(report.beside.size(), 1u);
  const RunComparison& found = report.beside[0];
  EXPECT_EQ(found.ours + " " + found.theirs, "second first");
  EXPECT_EQ(found.tasks, 3u);
  EXPECT_EQ(found.our_samples, 1u);
  EXPECT_EQ(found.their_samples, 2u);
  EXPECT_NEAR(found.comparison.solved->value, 1.0 / 3, 1e-12);
  // Of two samples each: 1/2, 0 and 1 where one is drawn.
  EXPECT_NEAR(found.comparison.pass_at.at(1)->value, 0.5, 1e-12);
  EXPECT_EQ(found.comparison.pass_at.size(), 1u);
  // Best ones, wrong ones 1: 2, 1 and 8 against 2, 2 and 2.
  EXPECT_NEAR(found.comparison.speedup->value, std::cbrt(8.0 / 16), 1e-12);
  EXPECT_NE(eval_page(report).find("second against first: 3 tasks, of 1 sample against 2"),
            std::string::npos);
}

TEST(EvalPage, EscapesWhatRunsSayAndShowsWhatWasKept) {
  const ScratchFolder folder;
  std::vector<Json> lines = kLines;
  lines.push_back(line("<script>alert(1)</script>.py", {sample(true, 1)}));
  lines.back()["files"] = "evil";
  written(folder, lines);
  std::ofstream(folder.path() / "evil.reference.py") << "one\ntwo </script>\nthree\n";
  std::ofstream(folder.path() / "evil.0.py") << "one\ntwo </script>\nthree\nfour <i>\n";
  std::string page = page_of(folder);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<b>much</b>"), std::string::npos);
  EXPECT_NE(page.find("off by &lt;b&gt;much&lt;/b&gt;"), std::string::npos);
  EXPECT_NE(page.find("+four &lt;i&gt;"), std::string::npos);
  // One script, the page's own, is what may run.
  const size_t begin = page.find("<script>") + 8, end = page.find("</script>");
  ASSERT_LT(begin, end);
  const std::string script = page.substr(begin, end - begin);
  page.erase(begin, end - begin);
  const StrictReader read(page);
  std::string allowed;
  for (const Tag& tag : read.tags) {
    if (tag.name == "meta" && tag.attributes.contains("http-equiv")) {
      allowed = tag.attributes.at("content");
    }
  }
  const size_t hash = allowed.find("script-src 'sha256-");
  ASSERT_NE(hash, std::string::npos);
  EXPECT_EQ(hex_of_base64(allowed.substr(hash + 19, 44)), sha256_hex(script));
  EXPECT_EQ(std::count_if(read.tags.begin(), read.tags.end(),
                          [](const Tag& tag) { return tag.name == "script"; }),
            1);
}

}  // namespace
}  // namespace kw
