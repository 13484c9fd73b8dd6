#include "verify/corpus/selftest.h"

#include <algorithm>
#include <chrono>

#include "formats/base/error.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

std::string described(const Verdict& verdict) {
  std::string out(outcome_name(verdict.outcome));
  if (verdict.rejected_at) out += " at " + std::string(stage_name(*verdict.rejected_at));
  return verdict.reason.empty() ? out : out + ": " + verdict.reason;
}

Json brief(const Verdict& verdict) {
  Json out = {
      {"outcome", outcome_name(verdict.outcome)},
      {"rejected_at", verdict.rejected_at ? Json(stage_name(*verdict.rejected_at)) : Json()},
      {"reason", verdict.reason},
      {"degenerate", verdict.degenerate}};
  if (const Json* sanitizer = sanitizer_evidence(verdict)) out["sanitizer"] = *sanitizer;
  return out;
}

// A worker's refusal ends in its code (JobFault::text).
bool refused_by(const Verdict& verdict, const std::vector<const Check*>& checks) {
  return std::any_of(checks.begin(), checks.end(), [&](const Check* check) {
    return verdict.reason.ends_with("[" + std::string(check->name) + "]");
  });
}

}  // namespace

std::string SelfTestResult::surprise() const {
  if (!judged) return "";
  if (!fault.empty()) return "the case is broken: " + fault;
  if (!test->program_wrong) {
    const bool accepted = candidate.outcome == Verdict::Outcome::kAccepted;
    if (accepted && test->known_fault) return "is accepted now: it can lose its `expect: rejected`";
    return accepted || test->known_fault ? "" : described(candidate);
  }
  if (test->known_fault) {
    return candidate.outcome == Verdict::Outcome::kAccepted
               ? ""
               : "is " + described(candidate) + ": it can lose its `expect: accepted`";
  }
  if (candidate.outcome == Verdict::Outcome::kAccepted) return "ACCEPTED";
  if (candidate.outcome == Verdict::Outcome::kNotJudged) return described(candidate);
  if (candidate.rejected_at != test->stage) {
    return "is " + described(candidate) + " (expected at " + std::string(stage_name(test->stage)) +
           ")";
  }
  if (twin.outcome != Verdict::Outcome::kAccepted) return "its twin is " + described(twin);
  if (!test->can_be_unchecked()) {
    const bool named = refused_by(candidate, test->checks);
    return named ? "" : "is " + described(candidate) + ", not by " + names_of(test->checks);
  }
  if (unchecked.outcome != Verdict::Outcome::kAccepted) {
    return "without " + names_of(test->checks) + " it is " + described(unchecked);
  }
  return "";
}

SelfTestResult SelfTest::run(const CorpusCase& test, VerifyOptions options) {
  const Clock::time_point start = Clock::now();
  SelfTestResult out;
  out.test = &test;
  const bool gpu = executor_.hello().value("backend", "") == "cuda";
  out.judged = gpu ? !test.needs_cpu : !(test.needs_gpu || test.timed());
  if (!out.judged) return out;
  options.pure = test.pure;
  options.time = gpu && test.timed();
  RecordRequest request;
  const std::string name = test.path.filename().string();
  request.file = name + " (reference)";
  request.profile = profile_;
  request.text = test.reference;
  try {
    const Reference reference = verifier_.prepare(request, options);
    request.cls = "ModelNew";
    request.harness_text = test.reference;
    request.harness_file = request.file;
    request.file = name;
    const auto judge = [&](const std::string& text, CheckNames without) {
      request.text = text;
      options.without = std::move(without);
      return verifier_.verify(reference, request, options);
    };
    out.candidate = judge(test.candidate, {});
    if (test.program_wrong) {
      out.twin = judge(test.twin, {});
      CheckNames names;
      for (const Check* check : test.checks) names.emplace(check->name);
      names.emplace("sanitizer");  // what it finds in a wrong program is no surprise
      if (test.can_be_unchecked()) out.unchecked = judge(test.candidate, std::move(names));
    }
    executor_.unload(reference.id);
  } catch (const InputError& error) {
    out.fault = error.what();
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

Json to_json(const SelfTestResult& result) {
  const CorpusCase& test = *result.test;
  Json out = {{"case", test.path.filename().string()},
              {"label", label_of(test)},
              {"family", test.family},
              {"mechanism", test.mechanism},
              {"judged", result.judged},
              {"surprise", result.surprise()},
              {"seconds", result.seconds}};
  if (!result.judged || !result.fault.empty()) return out;
  out["candidate"] = brief(result.candidate);
  if (!test.program_wrong) return out;
  out["stage"] = stage_name(test.stage);
  out["check"] = names_of(test.checks);
  out["twin"] = brief(result.twin);
  if (test.can_be_unchecked()) out["unchecked"] = brief(result.unchecked);
  return out;
}

}  // namespace kw
