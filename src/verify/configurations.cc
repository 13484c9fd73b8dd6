// Autotuned candidates (Verifier::judge_built). In use any configuration may be chosen, so each is
// judged: one Program with the tunings as they were built (the base), and one for every other
// configuration of a tuning, the other tunings as in the base. So a fault, or a time, belongs to
// one configuration. On a GPU the Program of each tuning's fastest is judged at last, and timed in
// full.
#include <algorithm>

#include "formats/base/sha256.h"
#include "program/rewrite/transform.h"
#include "verify/blame.h"
#include "verify/verifier.h"

namespace kw {
namespace {

constexpr int kSelectionRounds = 15;  // of timing, to choose among configurations

// One Program of the candidate, and what became of it.
struct Attempt {
  size_t tuning = 0;        // the one that is not as in the base; of the base itself, any
  std::vector<int> choice;  // configuration of each tuning
  std::optional<Task> task;
  bool cannot_run = false;
  Verdict verdict;

  bool accepted() const { return verdict.outcome == Verdict::Outcome::kAccepted; }
};

// The base first.
std::vector<Attempt> plan_attempts(const BuiltTask& built) {
  std::vector<Attempt> out;
  out.push_back({.choice = built.configurations, .task = built.task});
  for (size_t t = 0; t < built.tunings.size(); ++t) {
    for (size_t c = 0; c < built.tunings[t].configurations.size(); ++c) {
      if (static_cast<int>(c) == built.configurations[t]) continue;
      out.push_back({.tuning = t, .choice = built.configurations});
      out.back().choice[t] = static_cast<int>(c);
    }
  }
  return out;
}

std::string label(const Tuning& tuning, int configuration) {
  return tuning.kernel + " in " + tuning.configurations[configuration];
}

// "matmul in BLOCK=128, num_warps=4; norm in BLOCK=64, num_warps=2".
std::string label(const std::vector<Tuning>& tunings, const std::vector<int>& choice) {
  std::string out;
  for (size_t t = 0; t < tunings.size(); ++t) {
    out += (out.empty() ? "" : "; ") + label(tunings[t], choice[t]);
  }
  return out;
}

// Takes what a build gave. The verdict stands already when there is no task to judge.
void take(JobOutcome<BuiltTask>& outcome, const std::vector<Tuning>& tunings, Attempt& attempt) {
  if (outcome.fault) {
    attempt.cannot_run = outcome.fault->cannot_run();
    end_unbuilt(attempt.verdict, *outcome.fault);
  } else if (outcome.value->tunings != tunings) {
    attempt.verdict.outcome = Verdict::Outcome::kRejected;
    attempt.verdict.rejected_at = Stage::kRecord;
    attempt.verdict.reason =
        "the configurations to choose from change from one recording to the next";
  } else {
    attempt.task = canonical(outcome.value->task);
    if (!attempt.verdict.stages.empty()) {
      attempt.verdict.stages.back() = compiled_stage(*attempt.task, outcome.value->compile_seconds);
    }
  }
}

// The errors of the output, of all trials, that used up most of what is allowed. Null without any.
Json nearest_errors(const Verdict& verdict) {
  const StageResult* correct = find_stage(verdict, Stage::kCorrect);
  Json nearest;
  double most = -1;
  if (!correct || !correct->evidence.contains("trials")) return nearest;
  for (const Json& trial : correct->evidence["trials"]) {
    for (const Json& output : trial["outputs"]) {
      const auto allowed = output.at("allowed_rms").get<double>();
      const double used = allowed > 0 ? output.at("candidate_rms").get<double>() / allowed : 0;
      if (used <= most) continue;
      most = used;
      nearest = output;
    }
  }
  return nearest;
}

double device_ms(const Verdict& verdict) {
  const StageResult* time = find_stage(verdict, Stage::kTime);
  if (!time || !time->evidence.contains("candidate")) return 0;
  return time->evidence["candidate"]["device_ms"].get<double>();
}

// The attempt that shows `tuning` in configuration `c`, or null.
const Attempt* attempt_of(const std::vector<Attempt>& attempts, size_t tuning, int c) {
  for (const Attempt& attempt : attempts) {
    const bool base = &attempt == &attempts.front();
    if ((base || attempt.tuning == tuning) && attempt.choice[tuning] == c) return &attempt;
  }
  return nullptr;
}

std::vector<int> fastest(const std::vector<Attempt>& attempts, const BuiltTask& built) {
  std::vector<int> choice = built.configurations;
  for (size_t t = 0; t < choice.size(); ++t) {
    double best = 0;
    for (const Attempt& attempt : attempts) {
      const bool shows = &attempt == &attempts.front() || attempt.tuning == t;
      const auto& speedup = attempt.verdict.speedup_eager;
      if (!shows || !attempt.accepted() || !speedup || speedup->estimate <= best) continue;
      best = speedup->estimate;
      choice[t] = attempt.choice[t];
    }
  }
  return choice;
}

ConfigurationResult::Outcome outcome_of(const Attempt& attempt) {
  using Of = ConfigurationResult::Outcome;
  if (attempt.cannot_run) return Of::kCannotRun;
  switch (attempt.verdict.outcome) {
    case Verdict::Outcome::kAccepted:
      return Of::kAccepted;
    case Verdict::Outcome::kRejected:
      return Of::kRejected;
    case Verdict::Outcome::kNotJudged:
      break;
  }
  return Of::kNotJudged;
}

std::vector<ConfigurationResult> results(const std::vector<Attempt>& attempts,
                                         const BuiltTask& built, const std::vector<int>& chosen) {
  std::vector<ConfigurationResult> out;
  for (size_t t = 0; t < built.tunings.size(); ++t) {
    const Tuning& tuning = built.tunings[t];
    for (size_t c = 0; c < tuning.configurations.size(); ++c) {
      const Attempt* attempt = attempt_of(attempts, t, static_cast<int>(c));
      if (!attempt) continue;  // the candidate was rejected before its turn
      const Verdict& verdict = attempt->verdict;
      out.push_back({tuning.kernel, tuning.configurations[c], outcome_of(*attempt), verdict.reason,
                     nearest_errors(verdict), device_ms(verdict),
                     !chosen.empty() && chosen[t] == static_cast<int>(c)});
    }
  }
  return out;
}

class ConfigurationJudge {
 public:
  ConfigurationJudge(Verifier& verifier, Workers& workers, const Reference& reference,
                     const RecordRequest& request, const VerifyOptions& options, BuiltTask& built)
      : verifier_(verifier),
        workers_(workers),
        reference_(reference),
        request_(request),
        options_(options),
        built_(built),
        attempts_(plan_attempts(built)) {}

  void run(Verdict& verdict) {
    if (attempts_.size() > options_.most_configurations) {
      verdict.outcome = Verdict::Outcome::kRejected;
      verdict.rejected_at = Stage::kRecord;
      verdict.reason = "its autotuned kernels have " + std::to_string(attempts_.size()) +
                       " configurations to judge; at most " +
                       std::to_string(options_.most_configurations) +
                       " are (prune them with early_config_prune)";
      return;
    }
    const Verdict before = verdict;
    std::vector<int> chosen = built_.configurations;
    if (const Attempt* fault = judge_all(before)) {
      verdict = fault->verdict;
      verdict.reason = "with " + name(*fault) + ": " + verdict.reason;
      chosen.clear();
    } else if (!options_.time) {
      verdict = attempts_.front().verdict;
    } else {
      chosen = fastest(attempts_, built_);
      verdict = judge_chosen(chosen, before);
    }
    verdict.configurations = results(attempts_, built_, chosen);
    std::string keys;
    for (const Attempt& attempt : attempts_) keys += attempt.verdict.key;
    verdict.key = sha256_hex(verdict.key + keys);
  }

 private:
  // What is at fault when the base is not.
  std::string name(const Attempt& attempt) const {
    if (&attempt == &attempts_.front()) return label(built_.tunings, attempt.choice);
    return label(built_.tunings[attempt.tuning], attempt.choice[attempt.tuning]);
  }

  RecordRequest request_with(const std::vector<int>& choice) const {
    RecordRequest request = request_;
    request.configurations = choice;
    return request;
  }

  void build_all(const Verdict& before) {
    std::vector<RecordRequest> requests;
    for (Attempt& attempt : attempts_) {
      attempt.verdict = before;
      if (!attempt.task) requests.push_back(request_with(attempt.choice));
    }
    auto outcomes = build_tasks(workers_, requests, build_plan(options_));
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].fault && is_workers_fault(*outcomes[i].fault)) {
        outcomes[i] = build_and_blame(workers_, requests[i], build_plan(options_));
      }
      take(outcomes[i], built_.tunings, attempts_[i + 1]);
    }
  }

  // The attempt that keeps the candidate from being accepted, or null. What could not be judged
  // says nothing against the others, among which a wrong one may still be found.
  const Attempt* judge_all(const Verdict& before) {
    build_all(before);
    VerifyOptions options = options_;
    options.rounds = kSelectionRounds;
    options.compiled_package.clear();
    const Attempt* fault = nullptr;
    for (size_t i = 0; i < attempts_.size(); ++i) {
      Attempt& attempt = attempts_[i];
      if (attempt.task) verifier_.judge(reference_, *attempt.task, options, attempt.verdict);
      if (attempt.accepted() || attempt.cannot_run) continue;
      if (attempt.verdict.outcome == Verdict::Outcome::kRejected) {
        attempts_.resize(i + 1);
        return &attempts_.back();
      }
      if (!fault) fault = &attempt;
    }
    return fault;
  }

  // The whole verdict on one choice, whose task becomes the built one.
  Verdict judge_chosen(const std::vector<int>& choice, const Verdict& before) {
    Attempt attempt{.choice = choice, .verdict = before};
    for (const Attempt& earlier : attempts_) {
      if (earlier.choice != choice) continue;
      attempt.task = earlier.task;
      if (const StageResult* stage = find_stage(earlier.verdict, Stage::kCompile)) {
        attempt.verdict.stages.back() = *stage;
      }
    }
    if (!attempt.task) {
      auto outcome = build_and_blame(workers_, request_with(choice), build_plan(options_));
      take(outcome, built_.tunings, attempt);
    }
    if (attempt.task) {
      built_.task = *attempt.task;
      built_.configurations = choice;
      verifier_.judge(reference_, built_.task, options_, attempt.verdict);
    }
    if (!attempt.accepted()) {
      attempt.verdict.reason =
          "with " + label(built_.tunings, choice) + ": " + attempt.verdict.reason;
    }
    return std::move(attempt.verdict);
  }

  Verifier& verifier_;
  Workers& workers_;
  const Reference& reference_;
  const RecordRequest& request_;
  const VerifyOptions& options_;
  BuiltTask& built_;
  std::vector<Attempt> attempts_;
};

}  // namespace

void Verifier::judge_built(const Reference& reference, const RecordRequest& request,
                           const VerifyOptions& options, BuiltTask& built, Verdict& verdict) {
  if (built.tunings.empty() || options.without.contains("configurations")) {
    return judge(reference, built.task, options, verdict);
  }
  ConfigurationJudge(*this, workers_, reference, request, options, built).run(verdict);
}

}  // namespace kw
