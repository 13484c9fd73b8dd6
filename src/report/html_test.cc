#include "report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "eval/run/figures.h"
#include "report/markup/markup.h"
#include "report/markup/python_colour.h"
#include "report/test_program.h"
#include "report/test_strict_reader.h"

namespace kw {
namespace {

// A gated MLP with one fused fragment; every text from outside is `decorate`d.
OptimizeResult sample(const std::function<std::string(const std::string&)>& decorate) {
  TestProgram p;
  const ValueId w = p.state(decorate("gate.weight"), {64, 32});
  const ValueId v = p.state(decorate("up.weight"), {64, 32});
  const ValueId x = p.argument(decorate("x"), {8, 32});
  const auto linear = [&](ValueId weight) {
    return p.call("aten.linear.default", p.tensors({{"input", x}, {"weight", weight}}), {8, 64});
  };
  const ValueId gate = linear(w), up = linear(v);
  const ValueId silu = p.call("aten.silu.default", p.tensors({{"self", gate}}), {8, 64});
  const ValueId product =
      p.call("aten.mul.Tensor", p.tensors({{"self", silu}, {"other", up}}), {8, 64});
  auto view = p.tensors({{"self", product}});
  view["size"] = p.integers({512});
  const ValueId flat = p.call("aten.view.default", view, {512}, product);
  auto odd_args = p.tensors({{decorate("q"), flat}});
  odd_args["mode"].v = decorate("exact");
  const ValueId odd = p.call(decorate("other.thing.default"), odd_args, {512});
  OptimizeResult r;
  r.outcome = OptimizeResult::Outcome::kImproved;
  r.message = decorate("faster");
  r.reference = r.base = r.optimized = p.finish({odd});
  r.reference.source.file = decorate("model.py");
  r.reference.source.cls = decorate("Model");
  r.reference_source = decorate("import torch\n");
  r.python = decorate("import triton\n");
  r.changes = {decorate("folded")};
  r.step_seconds = {2e-5, 2e-5, 1e-5, 1.5e-5, 0, 1e-6};
  r.reference_seconds = 8e-5;
  r.search_seconds = 12;
  r.total_seconds = 15;

  Attempt fused;
  fused.steps = {2, 3};
  fused.family = decorate("pointwise");
  fused.plan = decorate("fuse silu, mul");
  fused.source = decorate("@triton.jit\ndef silu_mul(x):\n    return x  # done\n");
  fused.status = AttemptStatus::kAccepted;
  fused.chosen = true;
  fused.eager_seconds = 2.5e-5;
  fused.seconds = 1e-5;
  Attempt slower = fused;
  slower.chosen = false;
  slower.seconds = 2e-5;
  Attempt wrong = slower;
  wrong.status = AttemptStatus::kRejected;
  wrong.reason = "correct: " + decorate("off by one");
  Attempt strange = wrong;
  strange.reason = decorate("nothing known");
  r.attempts = {fused, slower, wrong, wrong, strange};

  r.verdict.outcome = Verdict::Outcome::kAccepted;
  r.verdict.share = 0.4;
  r.verdict.reason = decorate("");
  r.verdict.environment = {{"backend", decorate("cpu")},
                           {decorate("layers"), {{"seccomp", true}}},
                           {"versions", {decorate("torch")}}};
  StageResult compile{Stage::kCompile, true, "", {}, 0.5};
  compile.evidence["kernels"] = {
      {{"name", "silu_mul"}, {"registers", 40}, {"spills", 0}, {"shared", 2048}}};
  StageResult coverage{
      Stage::kCoverage, true, "", {{"share", 0.4}, {"aten_left", {decorate("a")}}}, 0};
  StageResult correct{Stage::kCorrect, true, "", {}, 1};
  const Json errors = {{"dtype", decorate("float32")}, {"exact", false},
                       {"reference_rms", 1e-7},        {"candidate_rms", 2e-7},
                       {"allowed_rms", 4e-7},          {"reference_worst", 1e-6},
                       {"candidate_worst", 2e-6},      {"allowed_worst", 8e-6}};
  correct.evidence["trials"] = {{{"variation", decorate("plain")}, {"outputs", {errors, errors}}},
                                {{"variation", "up"}, {"skipped", decorate("not finite")}}};
  r.verdict.stages = {compile, coverage, correct};
  r.verdict.configurations = {{decorate("silu_mul"), decorate("BLOCK=128"), "", 0.5, false},
                              {"silu_mul", "BLOCK=256", "", 0.4, true},
                              {"silu_mul", "BLOCK=8192", decorate("too large"), 0, false}};
  return r;
}

OptimizeResult plain_sample() {
  return sample([](const std::string& text) { return text; });
}
OptimizeResult measured_sample() {
  OptimizeResult r = plain_sample();
  r.measured = true;
  r.step_measured.assign(r.step_seconds.size(), true);
  for (Attempt& a : r.attempts) a.measured = true;
  r.verdict.speedup_eager = Interval{1.8312, 1.7912, 1.8734};
  r.verdict.speedup_compile = Interval{1.2, 1.15, 1.25};
  r.verdict.stages.push_back({Stage::kTime,
                              true,
                              "",
                              {{"eager", {{"device_ms", 0.7}, {"wall_ms", 0.8}}},
                               {"rounds", 50},
                               {"floor_ms", 0.1},
                               {"candidate", {{"device_ms", 0.4}, {"wall_ms", 0.5}}}},
                              1});
  return r;
}

TEST(Report, IsWellFormedAndStable) {
  for (const OptimizeResult& r : {plain_sample(), measured_sample()}) {
    const std::string html = report_html(r);
    expect_inert(StrictReader(html));
    EXPECT_EQ(html, report_html(r));
  }
}

TEST(Report, TextFromOutsideStaysText) {
  const OptimizeResult r = sample([](const std::string& text) { return text + kHostile; });
  const std::string html = report_html(r);
  const StrictReader page(html);
  expect_inert(page);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
  EXPECT_EQ(html.find("\xe2\x80\xae"), std::string::npos);  // right-to-left override
  // It is shown, not swallowed.
  EXPECT_NE(page.text.find("off by one" + clean_text(kHostile)), std::string::npos);
  EXPECT_NE(page.text.find("faster" + clean_text(kHostile)), std::string::npos);
}

TEST(Report, NothingIsLoadedFromElsewhere) {
  const std::string html = report_html(measured_sample());
  for (const char* needle : {"url(http", "@import", "<link", "<script", "src="}) {
    EXPECT_EQ(html.find(needle), std::string::npos) << needle;
  }
  // The SVG namespace is a name, not an address that is fetched.
  EXPECT_EQ(count(html, "http"),
            count(html, "http://www.w3.org/2000/svg") + count(html, "http-equiv"));
}

TEST(Report, ModelledTimesSaySoAndMeasuredOnesDoNot) {
  const std::string modelled = StrictReader(report_html(plain_sample())).text;
  EXPECT_EQ(modelled.find("faster than"), std::string::npos);
  // Headline, warning, graph, step times and their column, table, fragment, slower, end to end.
  EXPECT_GE(count(modelled, "modelled, not measured"), 9u);
  const std::string measured = StrictReader(report_html(measured_sample())).text;
  EXPECT_EQ(count(measured, "modelled"), 0u);
  OptimizeResult mixed = measured_sample();
  mixed.step_measured[1] = false;
  EXPECT_EQ(count(StrictReader(report_html(mixed)).text, "modelled"), 1u);
  EXPECT_NE(measured.find("1.83×faster than eager PyTorch95 % interval 1.79–1.87×"),
            std::string::npos);
}

TEST(Report, ShowsWhatTheEngineerLooksFor) {
  const std::string text = StrictReader(report_html(plain_sample())).text;
  for (const char* needle : {"silu → mul", "fuse silu, mul", "def silu_mul", "40", "2 KiB",
                             "off by one", "nothing known", "fp32 8×64", "gate.weight fp32 64×32",
                             "t2 = silu(t0)", "skipped: not finite", "seccomp",
                             "BLOCK=256 (chosen)400 µs", "BLOCK=8192not timedtoo large",
                             "not timed end to end", "changed into an equal one:folded"}) {
    EXPECT_NE(text.find(needle), std::string::npos) << needle;
  }
}

TEST(Report, SpeaksOfConfigurationsOnlyWhereThereAreSome) {
  OptimizeResult r = plain_sample();
  EXPECT_EQ(count(report_html(r), "id=\"configurations\""), 1u);
  EXPECT_EQ(count(StrictReader(report_html(r)).text, "(chosen)"), 1u);
  r.verdict.configurations.clear();
  EXPECT_EQ(count(report_html(r), "configuration"), 0u);
}

TEST(Report, ToleratesMissingEvidence) {
  EXPECT_NO_THROW(StrictReader(report_html(OptimizeResult{})));
  OptimizeResult r = measured_sample();
  r.step_seconds = {1e-5};  // fewer than steps
  r.step_measured = {};
  r.attempts[0].steps = {99, -1, 3, 2};
  r.attempts[0].eager_seconds = std::numeric_limits<double>::quiet_NaN();
  r.attempts[1].seconds = -1;
  for (const Json& bad : {Json(), Json(3), Json::array({1, "x"}), Json({{"trials", 3}}),
                          Json({{"trials", {3, Json::object()}},
                                {"kernels", {Json(), 3}},
                                {"eager", "x"},
                                {"floor_ms", Json()}}),
                          Json({{"trials", {{{"outputs", {7}}}}},
                                {"aten_left", {1}},
                                {"candidate", {{"device_ms", NAN}}},
                                {"floor_ms", INFINITY}})}) {
    for (StageResult& stage : r.verdict.stages) stage.evidence = bad;
    r.verdict.environment = bad;
    expect_inert(StrictReader(report_html(r)));
  }
}

TEST(Report, LargeSearchesAndProgramsStayReadable) {
  std::mt19937 rng(5);
  OptimizeResult r;
  r.reference = r.base = r.optimized = random_task(rng, 200);
  r.step_seconds.assign(200, 1e-6);
  for (int i = 0; i < 20000; ++i) {
    Attempt attempt;
    attempt.steps = {i % 200};
    attempt.status = AttemptStatus::kRejected;
    attempt.reason = "correct: reason " + std::to_string(i);
    r.attempts.push_back(attempt);
  }
  const std::string html = report_html(r);
  expect_inert(StrictReader(html));
  EXPECT_LT(html.size(), 1u << 20);
  EXPECT_NE(html.find("rejected at correct: 20000"), std::string::npos);
}

TEST(Markup, EscapingIsReversibleOnCleanText) {
  std::mt19937 rng(1);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += static_cast<char>(rng() % 2 ? rng() % 256 : "<>&\"'\r\n"[rng() % 7]);
    const std::string clean = clean_text(text);
    EXPECT_EQ(clean_text(clean), clean);
    EXPECT_EQ(unescape(escape_html(text)), clean);
    EXPECT_EQ(clean.find('\r'), std::string::npos);
  }
  EXPECT_EQ(clean_text("a\r\nb\rc"), "a\nb\nc");
  EXPECT_EQ(clean_text("é×…\t"), "é×…\t");
  EXPECT_EQ(clean_text("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
}

std::string coloured(const std::string& source) {
  Markup out;
  write_python(out, source);
  return out.str();
}

TEST(PythonColour, ChangesNoText) {
  const char* kPieces[] = {"def ", "f(",          "'",      "\"",      "\"\"\"", "\\",   "\n",
                           "# c",  "@triton.jit", " ",      "1.5e3",   "r'",     "fb\"", "é",
                           "\x80", "<b>",         "return", "class X", "\r",     "@"};
  std::mt19937 rng(2);
  for (int round = 0; round < 1000; ++round) {
    std::string source;
    for (int i = 0; i < 20; ++i) source += kPieces[rng() % std::size(kPieces)];
    EXPECT_EQ(StrictReader(coloured(source)).text, clean_text(source));
  }
}

TEST(PythonColour, KnowsWhatIsWhat) {
  EXPECT_EQ(coloured("def f(x): return 'a#b' # c"),
            "<span class=\"k\">def</span> <span class=\"f\">f</span>(x): "
            "<span class=\"k\">return</span> <span class=\"s\">&#39;a#b&#39;</span> "
            "<span class=\"c\"># c</span>");
  EXPECT_EQ(coloured("\"\"\"a\n'\"\"\"x"),
            "<span class=\"s\">&quot;&quot;&quot;a\n&#39;&quot;&quot;"
            "&quot;</span>x");
}

TEST(Figures, ReadWell) {
  EXPECT_EQ(time_text(1.234e-3), "1.23 ms");
  EXPECT_EQ(time_text(0.9999e-3), "1.00 ms");
  EXPECT_EQ(time_text(45.67e-6), "45.7 µs");
  EXPECT_EQ(time_text(12), "12.0 s");
  EXPECT_EQ(time_text(0), "0");
  EXPECT_EQ(time_text(NAN), "–");
  EXPECT_EQ(ratio_text(INFINITY), "–");
  EXPECT_EQ(percent_text(0.123), "12 %");
  EXPECT_EQ(percent_text(0.0001), "<0.1 %");
  EXPECT_EQ(percent_text(0.996), "99.6 %");  // not all
  EXPECT_EQ(percent_text(0.9999), ">99.9 %");
  EXPECT_EQ(percent_text(0.994), "99 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(bytes_text(49152), "48 KiB");
}

}  // namespace
}  // namespace kw
