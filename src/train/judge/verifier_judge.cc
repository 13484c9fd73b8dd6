#include "train/judge/verifier_judge.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "policy/chat/prompt.h"

namespace kw::train {
namespace {

using Clock = std::chrono::steady_clock;

// The most configurations of an autotuned answer; each is built and timed.
constexpr size_t kConfigurationsOfAnswer = 8;

double seconds_of_building(const Verdict& verdict) {
  double out = 0;
  for (const StageResult& stage : verdict.stages) {
    if (stage.stage <= Stage::kCompile) out += stage.seconds;
  }
  return out;
}

double sum(const std::map<std::string, double>& seconds) {
  double out = 0;
  for (const auto& [what, each] : seconds) out += each;
  return out;
}

Judgement rejected_at_load(std::string reason) {
  return {Judged{}, std::string(stage_name(Stage::kLoad)), std::move(reason)};
}

}  // namespace

Judgement judgement_of(const Verdict& verdict, bool timed) {
  if (verdict.outcome == Verdict::Outcome::kNotJudged) return {{}, "", verdict.reason};
  if (verdict.outcome == Verdict::Outcome::kAccepted) {
    if (verdict.degenerate) return {{}, "", "the task is degenerate"};
    const double speedup = timed && verdict.speedup_eager ? verdict.speedup_eager->lower : 1;
    return {Judged{true, true, speedup}, "", "", verdict.program};
  }
  const Stage stage = verdict.rejected_at.value_or(Stage::kLoad);
  return {Judged{stage > Stage::kCoverage, false, 0}, std::string(stage_name(stage)),
          verdict.reason};
}

VerifierJudge::VerifierJudge(const WorkerConfig& workers, ExecutorClient& executor,
                             const DeviceProfile& profile, const VerifierJudgeOptions& options,
                             SharedZygote* shared)
    : executor_(executor),
      profile_(profile),
      options_(options),
      timed_(options.time && executor.hello().value("backend", "") == "cuda"),
      crew_(workers, threads_of(options.jobs), shared) {}

VerifyOptions VerifierJudge::verify_options(uint64_t seed) const {
  VerifyOptions out;
  out.pure = true;
  out.trials = options_.trials;
  out.seed = seed;
  out.time = timed_;
  time_for_rewards(out);
  out.sanitizer = options_.sanitizer;
  out.sanitized_share = options_.sanitized_share;
  out.most_configurations = kConfigurationsOfAnswer;
  out.record_deadline = out.compile_deadline = deadline_of(options_.build_seconds);
  out.trial_deadline = deadline_of(options_.trial_seconds);
  return out;
}

JudgeReport VerifierJudge::judge(const std::vector<AnswerToJudge>& answers, uint64_t seed) {
  const auto start = Clock::now();
  const double busy = sum(executor_.busy_seconds());
  JudgeReport out;
  out.judgements.resize(answers.size());
  std::vector<BatchItem> items;
  for (size_t i = 0; i < answers.size(); ++i) {
    const Answer read = parse_answer(answers[i].text);
    if (answers[i].cut_off || !read.fault.empty()) {
      out.judgements[i] =
          rejected_at_load(answers[i].cut_off ? "cut off: no room for its end" : read.fault);
      continue;
    }
    BatchItem& item = items.emplace_back();
    item.id = std::to_string(i);
    item.task = answers[i].task;
    item.candidate = proposal_request(item.task->forward, read.source, profile_);
  }
  const int restarts = executor_.restarts();
  double built = 0;
  std::vector<double> finished;
  verify_batch(items, crew_, executor_, profile_, verify_options(seed),
               [&](const BatchResult& result) {
                 Judgement& to = out.judgements[std::stoull(result.item->id)];
                 to = result.fault.empty() ? judgement_of(result.verdict, timed_)
                                           : Judgement{{}, "", "the task: " + result.fault};
                 if (!result.same_as.empty()) return;
                 ++out.distinct;
                 if (const Json* report = sanitizer_evidence(result.verdict)) {
                   ++out.times.sanitized;
                   out.times.sanitizer_found += !(*report)["findings"].empty();
                   out.times.sanitizing += (*report)["seconds"].get<double>();
                 }
                 const double seconds = seconds_of_building(result.verdict);
                 built += seconds;
                 out.times.longest_build = std::max(out.times.longest_build, seconds);
                 finished.push_back(result.finished);
               });
  out.times.wall = std::chrono::duration<double>(Clock::now() - start).count();
  out.times.build = built / crew_.size();
  out.times.executor = sum(executor_.busy_seconds()) - busy;
  out.times.restarts = executor_.restarts() - restarts;
  std::ranges::sort(finished);
  if (!finished.empty()) {
    out.times.half = finished[(finished.size() - 1) / 2];
    out.times.most = finished[(finished.size() - 1) * 95 / 100];
  }
  return out;
}

}  // namespace kw::train
