#include "search/evaluate/fragment_evaluator.h"

#include <algorithm>

#include "formats/base/error.h"
#include "formats/base/on_threads.h"
#include "formats/base/sha256.h"
#include "formats/frame.h"
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

// Policies repeat themselves.
bool has_text(const Evaluated& found, const std::string& source) {
  return !source.empty() && std::ranges::any_of(found.attempts, [&](const Attempt& attempt) {
    return attempt.source == source;
  });
}

void too_late(Evaluated& found, size_t attempt) {
  found.attempts[attempt].status = AttemptStatus::kNotJudged;
  found.attempts[attempt].reason = "not judged: the search's time was over";
  found.attempts[attempt].settled = false;
  found.cut_short = true;
}

}  // namespace

FragmentEvaluator::FragmentEvaluator(WorkerPool& pool, ExecutorClient& executor, Policy& policy,
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

std::vector<Evaluated> FragmentEvaluator::evaluate(const std::vector<Asked>& asked,
                                                   const SearchLimit& limit) {
  std::vector<Work> works;
  std::vector<Work*> known, open;
  const bool draws = policy_.draws();
  for (const Asked& one : asked) {
    const Task& task = one.fragment.task;
    works.push_back(
        {.asked = one,
         .fragment = canonical_hash(task),
         .first_right = one.effort.any_right || !measures(),
         .question = draws && !one.effort.as_it_is ? question_of(task) : Question{task, ""}});
  }
  const struct NothingIsLeft {  // whatever is thrown
    FragmentEvaluator& its;
    ~NothingIsLeft() {
      its.builder_.abandon();
      its.builds_for_.clear();
    }
  } nothing_is_left{*this};
  for (Work& work : works) {
    work.key = store_key(work);
    recall(work);
    if (!work.done) (work.recalled ? known : open).push_back(&work);
  }
  build(known, limit);
  for (Work* work : known) {  // what was stored does not build any more
    if (!work->built.empty()) continue;
    if (limit.over()) {
      work->found.cut_short = true;
      continue;
    }
    work->recalled.reset();
    open.push_back(work);
  }
  const auto is_drawn = [&](const Work* work) { return draws && work->asked.effort.any_right; };
  const auto drawn = std::stable_partition(open.begin(), open.end(), is_drawn);
  judge_as_they_come({open.begin(), drawn}, limit);
  judge_in_turn({drawn, open.end()}, limit);
  std::vector<Evaluated> out;
  for (Work& work : works) {
    for (Built& candidate : work.built) {
      const Attempt& attempt = work.found.attempts[candidate.attempt];
      if (work.found.best && attempt.seconds >= work.found.seconds) continue;
      work.found.best = std::move(candidate.task);
      work.found.best_attempt = candidate.attempt;
      work.found.seconds = attempt.seconds;
    }
    if (!work.recalled && !work.done) remember(work);
    out.push_back(std::move(work.found));
  }
  return out;
}

void FragmentEvaluator::judge_in_turn(std::vector<Work*> works, const SearchLimit& limit) {
  propose(works, limit);
  while (!works.empty()) {
    build(works, limit);
    for (Work* work : works) judge(*work, limit);
    std::erase_if(works, [&](Work* work) { return !wants_more(*work, limit); });
  }
}

// Answers are built while others are written, and judged while others are built. No more are
// written or built of what is right.
void FragmentEvaluator::judge_as_they_come(const std::vector<Work*>& works,
                                           const SearchLimit& limit) {
  constexpr std::chrono::milliseconds kLook{50};  // between two looks at what was written
  std::vector<AnswerStream::Question> questions;
  for (Work* work : works) {
    begin(*work);
    const Effort& effort = work->asked.effort;
    questions.push_back({work->question.task, effort.proposals, effort.seed});
  }
  AnswerStream stream(policy_, profile_, std::move(questions), limit);
  while (true) {
    std::vector<Work*> open;
    for (Work* work : works) {
      if (!work->is_right && wants_more(*work, limit)) open.push_back(work);
    }
    send(open);
    bool is_busy = !builder_.empty();
    if (is_busy) take_built(limit, std::chrono::steady_clock::now() + kLook);
    for (size_t i = 0; i < works.size(); ++i) {
      Work& work = *works[i];
      if (work.is_right || work.built.empty()) continue;
      is_busy = true;
      judge(work, limit);
      if (!work.built.empty()) {
        work.is_right = true;
        stream.close(i);
        for (const auto& [number, attempt] : work.building) builder_.give_up(number);
      }
      take_built(limit, std::chrono::steady_clock::now());  // nobody else looks after the pool
    }
    const auto phase = clock_.scope("write");
    const std::vector<AnswerStream::Answer> come = stream.next(!is_busy);
    for (const auto& [question, proposal] : come) add(*works[question], proposal, limit);
    if (!is_busy && come.empty()) break;
  }
  for (size_t i = 0; i < works.size(); ++i) {
    const int left = stream.left_out(i);
    if (works[i]->is_right || left == 0) continue;
    Attempt attempt = attempt_of(*works[i]);
    attempt.reason = "not judged: " + std::to_string(left) + " answers were not waited for";
    attempt.settled = false;
    works[i]->found.attempts.push_back(std::move(attempt));
    works[i]->found.cut_short |= limit.over();
  }
}

// Whether some of its attempts are yet to be built. Where the limit came first they say so.
bool FragmentEvaluator::wants_more(Work& work, const SearchLimit& limit) {
  if (work.first_right && !work.built.empty()) return false;
  if (!limit.over()) return work.next < work.found.attempts.size();
  for (; work.next < work.found.attempts.size(); ++work.next) {
    if (!work.found.attempts[work.next].source.empty()) too_late(work.found, work.next);
  }
  return false;
}

void FragmentEvaluator::propose(const std::vector<Work*>& works, const SearchLimit& limit) {
  const auto phase = clock_.scope("write");
  const int threads = policy_.at_once() > 1 ? policy_.at_once() : this->threads();
  on_threads(threads, works.size(), [&](size_t i) { propose(*works[i], limit); });
}

void FragmentEvaluator::propose(Work& work, const SearchLimit& limit) {
  begin(work);
  // Without measurements the first proposal that is right is taken, so a few are enough.
  const int count = measures() || work.asked.effort.any_right ? work.asked.effort.proposals : 3;
  // What a policy waits for beyond the search's end comes too late; what it computes itself is kept
  // for another run.
  const auto now = std::chrono::steady_clock::now();
  const auto deadline = policy_.at_once() > 1 ? std::min(now + policy_.patience(), limit.end)
                                              : now + std::chrono::seconds(30);
  for (const Proposal& p :
       policy_.propose(work.question.task, profile_, count, work.asked.effort.seed, deadline)) {
    add(work, p, limit);
  }
  if (const auto& known = work.asked.known; known && !has_text(work.found, known->source)) {
    work.found.attempts.push_back(*known);
    work.found.attempts.back().status = AttemptStatus::kNotJudged;  // it is judged again
  }
}

void FragmentEvaluator::begin(Work& work) {
  work.found = {};
  work.found.eager_seconds = work.asked.model_seconds;
  work.next = 0;
}

void FragmentEvaluator::add(Work& work, const Proposal& proposal, const SearchLimit& limit) {
  std::string source = proposal.source;
  if (!source.empty()) source += work.question.adapter;
  if (has_text(work.found, source)) return;
  Attempt attempt = attempt_of(work);
  attempt.family = proposal.family;
  attempt.plan = proposal.plan;
  attempt.source = std::move(source);
  attempt.schedule = proposal.schedule;
  attempt.seconds = proposal.model_seconds;
  if (proposal.source.empty()) {
    if (!proposal.unanswered) attempt.status = AttemptStatus::kRejected;
    attempt.reason = (proposal.unanswered ? "not judged: " : "load: ") + proposal.fault;
    attempt.settled = !proposal.unanswered;
    work.found.cut_short |= proposal.unanswered && limit.over();
  }
  work.found.attempts.push_back(std::move(attempt));
}

Attempt FragmentEvaluator::attempt_of(const Work& work) {
  Attempt out;
  out.steps = work.asked.fragment.steps;
  out.eager_seconds = work.asked.model_seconds;
  return out;
}

// Records and compiles attempts: of recalled fragments the best one, where the first that is right
// is taken the next few, and otherwise all.
void FragmentEvaluator::build(const std::vector<Work*>& works, const SearchLimit& limit) {
  send(works);
  while (!builder_.empty()) take_built(limit, std::chrono::steady_clock::time_point::max());
  for (Work* work : works) {
    std::sort(work->built.begin(), work->built.end(),
              [](const Built& a, const Built& b) { return a.attempt < b.attempt; });
  }
}

// Starts to build what is to be built next.
void FragmentEvaluator::send(const std::vector<Work*>& works) {
  const size_t few =
      std::max<size_t>(1, static_cast<size_t>(threads()) / std::max<size_t>(1, works.size()));
  for (Work* work : works) {
    if (!work->built.empty()) continue;  // by an earlier run
    for (size_t i = work->next; i < work->found.attempts.size(); ++i) {
      if (work->first_right && work->building.size() >= few) break;
      work->next = i + 1;
      if (work->recalled && i != *work->recalled) continue;
      Attempt& attempt = work->found.attempts[i];
      if (attempt.source.empty()) continue;  // nothing was written
      if (const auto known = wrong_.find({work->fragment, attempt.source}); known != wrong_.end()) {
        attempt.status = AttemptStatus::kRejected;
        attempt.reason = known->second;
        continue;
      }
      const size_t number = builder_.submit(
          proposal_request(work->asked.fragment.task.forward, attempt.source, profile_));
      work->building.emplace(number, i);
      builds_for_[number] = work;
    }
  }
}

// What is built; waits until then for some.
void FragmentEvaluator::take_built(const SearchLimit& limit,
                                   std::chrono::steady_clock::time_point until) {
  const auto phase = clock_.scope("build");
  if (limit.over()) {
    for (const auto& [number, work] : builds_for_) builder_.give_up(number);
  }
  for (CandidateBuilder::Built& built : builder_.take(until)) {
    Work& work = *builds_for_.extract(built.number).mapped();
    const size_t i = work.building.extract(built.number).mapped();
    if (work.is_right) continue;
    Attempt& attempt = work.found.attempts[i];
    if (built.task) {
      work.built.push_back({i, std::move(*built.task)});
    } else if (built.given_up) {
      too_late(work.found, i);
    } else {
      attempt.status = AttemptStatus::kRejected;
      attempt.reason = built.fault;
      attempt.settled = built.settled;
      note_if_wrong(work, attempt);
    }
  }
}

// Leaves in `built` what is accepted and timed.
void FragmentEvaluator::judge(Work& work, const SearchLimit& limit) {
  std::vector<Built> built = std::move(work.built);
  work.built.clear();
  if (built.empty()) return;
  const VerifyOptions options = screening(options_.verify);
  std::optional<Reference> reference;
  for (Built& candidate : built) {
    if (limit.over()) {
      too_late(work.found, candidate.attempt);
      continue;
    }
    const auto phase = clock_.scope("judge");
    Attempt& attempt = work.found.attempts[candidate.attempt];
    if (attempt.reason = replacement_fault(work.asked.fragment, candidate.task);
        !attempt.reason.empty()) {
      attempt.status = AttemptStatus::kRejected;
      note_if_wrong(work, attempt);
      continue;
    }
    if (!reference) reference = verifier_.prepare(work.asked.fragment.task);
    Verdict verdict;
    verifier_.judge(*reference, candidate.task, options, verdict);
    attempt.status = status_of(verdict.outcome);
    if (!attempt.accepted()) {
      attempt.reason = fault_text(verdict);
      attempt.settled = verdict.outcome == Verdict::Outcome::kRejected;
      note_if_wrong(work, attempt);
      continue;
    }
    work.built.push_back(std::move(candidate));
    if (work.first_right) break;
  }
  if (!work.built.empty() && !work.first_right) {
    if (limit.stop) {
      for (const Built& candidate : work.built) too_late(work.found, candidate.attempt);
      work.built.clear();
    } else {
      time(*reference, work);
    }
  }
  if (reference) executor_.unload(reference->id);
}

// So that the same text need not be found wrong again.
void FragmentEvaluator::note_if_wrong(const Work& work, const Attempt& attempt) {
  if (attempt.settled) wrong_[{work.fragment, attempt.source}] = attempt.reason;
}

void FragmentEvaluator::time(const Reference& reference, Work& work) {
  const auto phase = clock_.scope("time");
  std::vector<const Task*> candidates;
  for (const Built& candidate : work.built) candidates.push_back(&candidate.task);
  const TimeReport report = time_side_by_side(executor_, reference, candidates, options_.verify);
  if (!report.ok()) {
    for (const Built& candidate : work.built) {
      work.found.attempts[candidate.attempt].status = AttemptStatus::kRejected;
      work.found.attempts[candidate.attempt].settled = false;
      work.found.attempts[candidate.attempt].reason = "time: " + report.message;
    }
    work.built.clear();
    return;
  }
  work.found.eager_seconds = 1e-3 * median(report.device_ms[0]);
  std::vector<std::pair<Json, double>> lessons;
  for (size_t i = 0; i < work.built.size(); ++i) {
    Attempt& attempt = work.found.attempts[work.built[i].attempt];
    attempt.measured = true;
    attempt.eager_seconds = work.found.eager_seconds;
    attempt.seconds = 1e-3 * median(report.device_ms[i + 1]);
    lessons.emplace_back(attempt.schedule, attempt.seconds);
  }
  policy_.learn(lessons);
}

std::string FragmentEvaluator::store_key(const Work& work) const {
  const Json parts = {{"fragment", work.fragment},
                      {"policy", policy_.name()},
                      {"policy_version", policy_.fingerprint()},
                      {"proposals", work.asked.effort.proposals},
                      {"any_right", work.asked.effort.any_right},
                      {"seed", work.asked.effort.seed},
                      {"question", work.question.adapter},
                      {"known", work.asked.known ? work.asked.known->source : ""},
                      {"profile", profile_.name},
                      {"executor", executor_.hello()},
                      {"worker", pool_.versions()}};
  return "fragment/" + sha256_hex(parts.dump());
}

void FragmentEvaluator::recall(Work& work) {
  const auto stored = store_.get(work.key);
  if (!stored) return;
  try {
    const JsonReader in(*stored, "store");
    work.found.eager_seconds = in.at("eager_seconds").number();
    for (const JsonReader& item : in.at("attempts").items()) {
      Attempt attempt;
      attempt.steps = work.asked.fragment.steps;
      attempt.family = item.at("family").string();
      attempt.plan = item.at("plan").string();
      attempt.source = item.at("source").string();
      attempt.reason = item.at("reason").string();
      attempt.status = item.at("accepted").boolean() ? AttemptStatus::kAccepted
                       : attempt.reason.empty()      ? AttemptStatus::kNotJudged
                                                     : AttemptStatus::kRejected;
      attempt.measured = item.at("measured").boolean();
      attempt.eager_seconds = work.found.eager_seconds;
      attempt.seconds = item.at("seconds").number();
      attempt.from_store = true;
      work.found.attempts.push_back(std::move(attempt));
    }
    work.done = in.at("best").is_null();
    if (work.done) return;
    work.recalled = static_cast<size_t>(
        in.at("best").integer(0, static_cast<int64_t>(work.found.attempts.size()) - 1));
  } catch (const InputError&) {
    work.found = {};  // of another version, or damaged: evaluated again
    return;
  }
  const auto built = store_.get_bytes(work.key);
  if (!built) return;
  try {
    FrameParser parser;
    parser.feed(*built);
    if (const auto frame = parser.next()) {
      work.built.push_back({*work.recalled, task_from_frame(*frame)});
    }
  } catch (const InputError&) {  // it will be built again
  }
}

// Only what another run would find as well: not a worker that was killed or ran out of time.
void FragmentEvaluator::remember(const Work& work) {
  const Evaluated& out = work.found;
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
  store_.put(work.key, {{"eager_seconds", out.eager_seconds},
                        {"attempts", attempts},
                        {"best", out.best ? Json(out.best_attempt) : Json()}});
  if (out.best) store_.put_bytes(work.key, encode_frame(task_to_frame(*out.best)));
}

}  // namespace kw
