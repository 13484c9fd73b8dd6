#include "search/evaluate/fragment_evaluator.h"

#include <algorithm>

#include "formats/base/error.h"
#include "formats/base/on_threads.h"
#include "formats/base/sha256.h"
#include "formats/frame.h"
#include "program/rewrite/adopt.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"
#include "search/evaluate/answer_stream.h"
#include "verify/batch/side_by_side.h"
#include "verify/verdict/statistics.h"

namespace kw {
namespace {

std::string fault_text(const Verdict& verdict) {
  const std::string at =
      verdict.rejected_at ? std::string(stage_name(*verdict.rejected_at)) + ": " : "not judged: ";
  return at + verdict.reason;
}

AttemptStatus status_of(Verdict::Outcome outcome) {
  if (outcome == Verdict::Outcome::kNotJudged) return AttemptStatus::kNotJudged;
  return outcome == Verdict::Outcome::kAccepted ? AttemptStatus::kAccepted
                                                : AttemptStatus::kRejected;
}

// Returns whether an attempt has this text: policies repeat themselves.
bool has_text(const EvaluationResult& found, const std::string& source) {
  return !source.empty() && std::ranges::any_of(found.attempts, [&](const Attempt& attempt) {
    return attempt.source == source;
  });
}

// Replaces a candidate by the program that it is judged as, or returns why it cannot take the
// fragment's place.
std::string adoption_fault(const Fragment& fragment, Task& candidate) {
  try {
    Adoption adoption = adopt(fragment.task, candidate);
    if (!adoption.task) return adoption.fault;
    candidate = std::move(*adoption.task);
  } catch (const InputError& error) {
    return error.what();
  }
  return replacement_fault(fragment, candidate);
}

void too_late(EvaluationResult& found, size_t attempt) {
  found.attempts[attempt].status = AttemptStatus::kNotJudged;
  found.attempts[attempt].reason = "not judged: the search's time was over";
  found.attempts[attempt].settled = false;
  found.cut_short = true;
}

}  // namespace

FragmentEvaluator::FragmentEvaluator(WorkerPool& pool, Executor& executor, Policy& policy,
                                     Store& store, const DeviceProfile& profile,
                                     const OptimizeOptions& options, PhaseClock& clock)
    : pool_(pool),
      executor_(executor),
      policy_(policy),
      store_(store),
      profile_(profile),
      options_(options),
      clock_(clock),
      verifier_(pool, executor, profile),
      builder_(pool, options.verify) {}

class FragmentEvaluator::AbandonsBuilds {
 public:
  explicit AbandonsBuilds(FragmentEvaluator& evaluator) : evaluator_(evaluator) {}
  ~AbandonsBuilds() {
    evaluator_.builder_.abandon();
    evaluator_.builds_for_.clear();
  }
  AbandonsBuilds(const AbandonsBuilds&) = delete;

 private:
  FragmentEvaluator& evaluator_;
};

std::vector<EvaluationResult> FragmentEvaluator::evaluate(
    const std::vector<EvaluationRequest>& requests, const SearchLimit& limit) {
  std::vector<FragmentJob> jobs;
  std::vector<FragmentJob*> recalled, open;
  const bool draws = policy_.draws();
  for (const EvaluationRequest& request : requests) {
    const Task& task = request.fragment.task;
    jobs.push_back(
        {.request = request,
         .fragment_hash = canonical_hash(task),
         .takes_first = request.effort.any_right || !measures(),
         .question = draws && !request.effort.as_it_is ? question_of(task) : Question{task, ""}});
  }
  const AbandonsBuilds abandons_builds(*this);
  for (FragmentJob& job : jobs) {
    job.key = store_key(job);
    recall(job);
    if (job.state == State::kOpen) open.push_back(&job);
    if (job.state == State::kRecalled) recalled.push_back(&job);
  }
  build(recalled, limit);
  for (FragmentJob* job : recalled) {
    if (!job->built.empty()) continue;
    // The stored attempt does not build any more.
    if (limit.over()) {
      job->result.cut_short = true;
      continue;
    }
    job->state = State::kOpen;
    open.push_back(job);
  }
  const auto is_drawn = [&](const FragmentJob* job) {
    return draws && job->request.effort.any_right;
  };
  const auto drawn = std::stable_partition(open.begin(), open.end(), is_drawn);
  judge_as_they_come({open.begin(), drawn}, limit);
  judge_in_turn({drawn, open.end()}, limit);
  std::vector<EvaluationResult> out;
  for (FragmentJob& job : jobs) {
    for (Built& candidate : job.built) {
      const Attempt& attempt = job.result.attempts[candidate.attempt];
      if (job.result.best && attempt.seconds >= job.result.seconds) continue;
      job.result.best = std::move(candidate.task);
      job.result.best_attempt = candidate.attempt;
      job.result.seconds = attempt.seconds;
    }
    if (job.state == State::kOpen || job.state == State::kFound) remember(job);
    out.push_back(std::move(job.result));
  }
  return out;
}

void FragmentEvaluator::judge_in_turn(std::vector<FragmentJob*> jobs, const SearchLimit& limit) {
  propose(jobs, limit);
  while (!jobs.empty()) {
    build(jobs, limit);
    for (FragmentJob* job : jobs) judge(*job, limit);
    std::erase_if(jobs, [&](FragmentJob* job) { return !wants_more(*job, limit); });
  }
}

// Writing, building and judging overlap: answers are built while the policy writes others, and are
// judged while others are built. A fragment with a right answer gets no more of either.
void FragmentEvaluator::judge_as_they_come(const std::vector<FragmentJob*>& jobs,
                                           const SearchLimit& limit) {
  constexpr std::chrono::milliseconds kLook{50};  // between two looks at the answers
  std::vector<AnswerStream::Question> questions;
  for (FragmentJob* job : jobs) {
    reset(*job);
    const Effort& effort = job->request.effort;
    questions.push_back({job->question.task, effort.proposals, effort.seed});
  }
  AnswerStream stream(policy_, profile_, std::move(questions), limit);
  while (true) {
    std::vector<FragmentJob*> open;
    for (FragmentJob* job : jobs) {
      if (job->state != State::kFound && wants_more(*job, limit)) open.push_back(job);
    }
    submit_builds(open);
    bool is_busy = !builder_.empty();
    if (is_busy) take_finished_builds(limit, std::chrono::steady_clock::now() + kLook);
    for (size_t i = 0; i < jobs.size(); ++i) {
      FragmentJob& job = *jobs[i];
      if (job.state == State::kFound || job.built.empty()) continue;
      is_busy = true;
      judge(job, limit);
      if (!job.built.empty()) {
        job.state = State::kFound;
        stream.close(i);
        for (const auto& [number, attempt] : job.building) builder_.give_up(number);
      }
      // No other code serves the pool meanwhile.
      take_finished_builds(limit, std::chrono::steady_clock::now());
    }
    const auto phase = clock_.scope("write");
    const std::vector<AnswerStream::Answer> come = stream.next(!is_busy);
    for (const auto& [question, proposal] : come) add_proposal(*jobs[question], proposal, limit);
    if (!is_busy && come.empty()) break;
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int left = stream.left_out(i);
    if (jobs[i]->state == State::kFound || left == 0) continue;
    Attempt attempt = attempt_of(*jobs[i]);
    attempt.reason = "not judged: " + std::to_string(left) + " answers were not waited for";
    attempt.settled = false;
    jobs[i]->result.attempts.push_back(std::move(attempt));
    jobs[i]->result.cut_short |= limit.over();
  }
}

// Returns whether the job has attempts that are yet to be built. If the limit is over, marks these
// attempts as not judged and returns false.
bool FragmentEvaluator::wants_more(FragmentJob& job, const SearchLimit& limit) {
  if (job.takes_first && !job.built.empty()) return false;
  if (!limit.over()) return job.next < job.result.attempts.size();
  for (; job.next < job.result.attempts.size(); ++job.next) {
    if (!job.result.attempts[job.next].source.empty()) too_late(job.result, job.next);
  }
  return false;
}

void FragmentEvaluator::propose(const std::vector<FragmentJob*>& jobs, const SearchLimit& limit) {
  const auto phase = clock_.scope("write");
  const int threads = policy_.at_once() > 1 ? policy_.at_once() : this->threads();
  on_threads(threads, jobs.size(), [&](size_t i) { propose(*jobs[i], limit); });
}

void FragmentEvaluator::propose(FragmentJob& job, const SearchLimit& limit) {
  reset(job);
  // Without measurements the first proposal that is right is taken, so a few are enough.
  const int count = measures() || job.request.effort.any_right ? job.request.effort.proposals : 3;
  // Answers that a policy waits for are of no use after the end of the search. A policy that
  // computes its answers may take longer: they are kept for another run.
  const auto now = std::chrono::steady_clock::now();
  const auto deadline = policy_.at_once() > 1 ? std::min(now + policy_.patience(), limit.end)
                                              : now + std::chrono::seconds(30);
  for (const Proposal& p :
       policy_.propose(job.question.task, profile_, count, job.request.effort.seed, deadline)) {
    add_proposal(job, p, limit);
  }
  if (const auto& known = job.request.known; known && !has_text(job.result, known->source)) {
    job.result.attempts.push_back(*known);
    job.result.attempts.back().status = AttemptStatus::kNotJudged;  // it is judged again
  }
}

void FragmentEvaluator::reset(FragmentJob& job) {
  job.result = {};
  job.result.eager_seconds = job.request.model_seconds;
  job.next = 0;
}

void FragmentEvaluator::add_proposal(FragmentJob& job, const Proposal& proposal,
                                     const SearchLimit& limit) {
  std::string source = proposal.source;
  if (!source.empty()) source += job.question.adapter;
  if (has_text(job.result, source)) return;
  Attempt attempt = attempt_of(job);
  attempt.family = proposal.family;
  attempt.plan = proposal.plan;
  attempt.source = std::move(source);
  attempt.schedule = proposal.schedule;
  attempt.seconds = proposal.model_seconds;
  if (proposal.source.empty()) {
    if (!proposal.unanswered) attempt.status = AttemptStatus::kRejected;
    attempt.reason = (proposal.unanswered ? "not judged: " : "load: ") + proposal.fault;
    attempt.settled = !proposal.unanswered;
    job.result.cut_short |= proposal.unanswered && limit.over();
  }
  job.result.attempts.push_back(std::move(attempt));
}

Attempt FragmentEvaluator::attempt_of(const FragmentJob& job) {
  Attempt out;
  out.steps = job.request.fragment.steps;
  out.eager_seconds = job.request.model_seconds;
  return out;
}

// Records and compiles attempts. A recalled job has its best attempt built, a job that takes the
// first right attempt the next few, and any other job all of them.
void FragmentEvaluator::build(const std::vector<FragmentJob*>& jobs, const SearchLimit& limit) {
  submit_builds(jobs);
  while (!builder_.empty())
    take_finished_builds(limit, std::chrono::steady_clock::time_point::max());
  for (FragmentJob* job : jobs) {
    std::sort(job->built.begin(), job->built.end(),
              [](const Built& a, const Built& b) { return a.attempt < b.attempt; });
  }
}

// Starts the builds that build() speaks of, without waiting for them.
void FragmentEvaluator::submit_builds(const std::vector<FragmentJob*>& jobs) {
  const size_t few =
      std::max<size_t>(1, static_cast<size_t>(threads()) / std::max<size_t>(1, jobs.size()));
  for (FragmentJob* job : jobs) {
    if (!job->built.empty()) continue;  // an earlier run built it
    for (size_t i = job->next; i < job->result.attempts.size(); ++i) {
      if (job->takes_first && job->building.size() >= few) break;
      job->next = i + 1;
      if (job->state == State::kRecalled && i != job->recalled_attempt) continue;
      Attempt& attempt = job->result.attempts[i];
      if (attempt.source.empty()) continue;  // nothing was written
      if (const auto known = wrong_.find({job->fragment_hash, attempt.source});
          known != wrong_.end()) {
        attempt.status = AttemptStatus::kRejected;
        attempt.reason = known->second;
        continue;
      }
      const size_t number = builder_.submit(
          proposal_request(job->request.fragment.task.forward, attempt.source, profile_));
      job->building.emplace(number, i);
      builds_for_[number] = job;
    }
  }
}

// Takes finished builds. If there are none, waits for one until `until`.
void FragmentEvaluator::take_finished_builds(const SearchLimit& limit,
                                             std::chrono::steady_clock::time_point until) {
  const auto phase = clock_.scope("build");
  if (limit.over()) {
    for (const auto& [number, job] : builds_for_) builder_.give_up(number);
  }
  for (CandidateBuilder::Built& built : builder_.take(until)) {
    FragmentJob& job = *builds_for_.extract(built.number).mapped();
    const size_t i = job.building.extract(built.number).mapped();
    if (job.state == State::kFound) continue;
    Attempt& attempt = job.result.attempts[i];
    if (built.task) {
      job.built.push_back({i, std::move(*built.task)});
    } else if (built.given_up) {
      too_late(job.result, i);
    } else {
      attempt.status = AttemptStatus::kRejected;
      attempt.reason = built.fault;
      attempt.settled = built.settled;
      note_if_wrong(job, attempt);
    }
  }
}

// Judges and times the built attempts; those that are accepted stay in `built`.
void FragmentEvaluator::judge(FragmentJob& job, const SearchLimit& limit) {
  std::vector<Built> built = std::move(job.built);
  job.built.clear();
  if (built.empty()) return;
  const VerifyOptions options = screening(options_.verify);
  std::optional<Reference> reference;
  for (Built& candidate : built) {
    if (limit.over()) {
      too_late(job.result, candidate.attempt);
      continue;
    }
    const auto phase = clock_.scope("judge");
    Attempt& attempt = job.result.attempts[candidate.attempt];
    if (attempt.reason = adoption_fault(job.request.fragment, candidate.task);
        !attempt.reason.empty()) {
      attempt.status = AttemptStatus::kRejected;
      note_if_wrong(job, attempt);
      continue;
    }
    if (!reference) reference = verifier_.prepare(job.request.fragment.task);
    Verdict verdict;
    verifier_.judge(*reference, candidate.task, options, verdict);
    attempt.status = status_of(verdict.outcome);
    if (!attempt.accepted()) {
      attempt.reason = fault_text(verdict);
      attempt.settled = verdict.outcome == Verdict::Outcome::kRejected;
      note_if_wrong(job, attempt);
      continue;
    }
    job.built.push_back(std::move(candidate));
    if (job.takes_first) break;
  }
  if (!job.built.empty() && !job.takes_first) {
    if (limit.stop) {
      for (const Built& candidate : job.built) too_late(job.result, candidate.attempt);
      job.built.clear();
    } else {
      time(*reference, job);
    }
  }
  if (reference) executor_.unload(reference->id);
}

// Notes a wrong text, so that it is not judged again.
void FragmentEvaluator::note_if_wrong(const FragmentJob& job, const Attempt& attempt) {
  if (attempt.settled) wrong_[{job.fragment_hash, attempt.source}] = attempt.reason;
}

void FragmentEvaluator::time(const Reference& reference, FragmentJob& job) {
  const auto phase = clock_.scope("time");
  std::vector<const Task*> candidates;
  for (const Built& candidate : job.built) candidates.push_back(&candidate.task);
  const TimeReport report = time_side_by_side(executor_, reference, candidates, options_.verify);
  if (!report.ok()) {
    for (const Built& candidate : job.built) {
      job.result.attempts[candidate.attempt].status = AttemptStatus::kRejected;
      job.result.attempts[candidate.attempt].settled = false;
      job.result.attempts[candidate.attempt].reason = "time: " + report.message;
    }
    job.built.clear();
    return;
  }
  job.result.eager_seconds = 1e-3 * median(report.device_ms[0]);
  std::vector<std::pair<Json, double>> lessons;
  for (size_t i = 0; i < job.built.size(); ++i) {
    Attempt& attempt = job.result.attempts[job.built[i].attempt];
    attempt.measured = true;
    attempt.eager_seconds = job.result.eager_seconds;
    attempt.seconds = 1e-3 * median(report.device_ms[i + 1]);
    lessons.emplace_back(attempt.schedule, attempt.seconds);
  }
  policy_.learn(lessons);
}

std::string FragmentEvaluator::store_key(const FragmentJob& job) const {
  const Json parts = {{"fragment", job.fragment_hash},
                      {"policy", policy_.name()},
                      {"policy_version", policy_.fingerprint()},
                      {"proposals", job.request.effort.proposals},
                      {"any_right", job.request.effort.any_right},
                      {"seed", job.request.effort.seed},
                      {"question", job.question.adapter},
                      {"known", job.request.known ? job.request.known->source : ""},
                      {"profile", profile_.name},
                      {"executor", executor_.hello()},
                      {"worker", pool_.versions()}};
  return "fragment/" + sha256_hex(parts.dump());
}

void FragmentEvaluator::recall(FragmentJob& job) {
  const auto stored = store_.get(job.key);
  if (!stored) return;
  try {
    const JsonReader in(*stored, "store");
    job.result.eager_seconds = in.at("eager_seconds").number();
    for (const JsonReader& item : in.at("attempts").items()) {
      Attempt attempt;
      attempt.steps = job.request.fragment.steps;
      attempt.family = item.at("family").string();
      attempt.plan = item.at("plan").string();
      attempt.source = item.at("source").string();
      attempt.reason = item.at("reason").string();
      attempt.status = item.at("accepted").boolean() ? AttemptStatus::kAccepted
                       : attempt.reason.empty()      ? AttemptStatus::kNotJudged
                                                     : AttemptStatus::kRejected;
      attempt.measured = item.at("measured").boolean();
      attempt.eager_seconds = job.result.eager_seconds;
      attempt.seconds = item.at("seconds").number();
      attempt.from_store = true;
      job.result.attempts.push_back(std::move(attempt));
    }
    if (in.at("best").is_null()) {
      job.state = State::kNoneRight;
      return;
    }
    job.recalled_attempt = static_cast<size_t>(
        in.at("best").integer(0, static_cast<int64_t>(job.result.attempts.size()) - 1));
    job.state = State::kRecalled;
  } catch (const InputError&) {
    job.result = {};  // the entry is damaged or of another version: evaluate again
    return;
  }
  const auto built = store_.get_bytes(job.key);
  if (!built) return;
  try {
    FrameParser parser;
    parser.feed(*built);
    if (const auto frame = parser.next()) {
      job.built.push_back({job.recalled_attempt, task_from_frame(*frame)});
    }
  } catch (const InputError&) {  // the attempt is built again
  }
}

// Stores the result if another run would find the same: no worker was killed or ran out of time.
void FragmentEvaluator::remember(const FragmentJob& job) {
  const EvaluationResult& out = job.result;
  if (out.attempts.empty()) return;  // the policy may have had no time
  for (const Attempt& attempt : out.attempts) {
    if (!attempt.settled) return;
  }
  Json attempts = Json::array();
  for (const Attempt& a : out.attempts) {
    attempts.push_back({{"family", a.family},
                        {"plan", a.plan},
                        {"source", a.source},
                        {"accepted", a.accepted()},
                        {"reason", a.reason},
                        {"measured", a.measured},
                        {"seconds", a.seconds}});
  }
  store_.put(job.key, {{"eager_seconds", out.eager_seconds},
                       {"attempts", attempts},
                       {"best", out.best ? Json(out.best_attempt) : Json()}});
  if (out.best) store_.put_bytes(job.key, encode_frame(task_to_frame(*out.best)));
}

}  // namespace kw
