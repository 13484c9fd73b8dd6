// Autotuned candidates (Verifier::judge_built). Time alone chooses a configuration of each tuning,
// as Triton's autotuner does in use. What is not timed (on a CPU, or without times) stays in the
// first configuration that the device can run. The Program with these configurations is the
// candidate's: it alone is judged and handed out.
#include <algorithm>

#include "program/rewrite/transform.h"
#include "runtime/held_task.h"
#include "verify/blame.h"
#include "verify/own_file/own_file.h"
#include "verify/verdict/statistics.h"
#include "verify/verifier.h"

namespace kw {
namespace {

constexpr int kSelectionRounds = 15;  // of timing, to choose among configurations

// The candidate with one tuning in another configuration than it was built with.
struct Attempt {
  size_t tuning = 0;
  int configuration = 0;
  std::optional<Task> task;
  std::string reason;  // why it is not timed
  double device_ms = 0, speedup = 0;
};

JobFault changing_choice(const RecordRequest& request) {
  return {JobResult::Status::kRefused,
          "varies",
          "the configurations to choose from change from one recording to the next",
          request.file,
          0,
          "record"};
}

class ConfigurationChoice {
 public:
  ConfigurationChoice(Workers& workers, Executor& executor, const Reference& reference,
                      const RecordRequest& request, const VerifyOptions& options, BuiltTask& built)
      : workers_(workers),
        executor_(executor),
        reference_(reference),
        request_(request),
        options_(options),
        built_(built),
        choice_(built.configurations) {}

  // Makes the built task that of the fastest configurations, or returns why there is none.
  std::optional<JobFault> run() {
    plan();
    if (auto fault = build()) return fault;
    base_.task = built_.task;
    time(base_);
    for (Attempt& attempt : attempts_) {
      if (attempt.task) time(attempt);
    }
    for (size_t t = 0; t < choice_.size(); ++t) {
      double best = base_.speedup;
      for (const Attempt& attempt : attempts_) {
        if (attempt.tuning != t || attempt.speedup <= best) continue;
        best = attempt.speedup;
        choice_[t] = attempt.configuration;
      }
    }
    return take_choice();
  }

  std::vector<ConfigurationResult> results() const {
    std::vector<ConfigurationResult> out;
    for (size_t t = 0; t < built_.tunings.size(); ++t) {
      const Tuning& tuning = built_.tunings[t];
      for (int c = 0; c < static_cast<int>(tuning.configurations.size()); ++c) {
        ConfigurationResult result{tuning.kernel, tuning.configurations[c], "", 0, choice_[t] == c};
        if (const Attempt* attempt = attempt_of(t, c)) {
          result.reason = attempt->reason;
          result.device_ms = attempt->device_ms;
        }
        out.push_back(std::move(result));
      }
    }
    return out;
  }

 private:
  void plan() {
    const std::vector<int>& base = built_.configurations;
    for (size_t t = 0; t < base.size(); ++t) {
      for (int c = 0; c < static_cast<int>(built_.tunings[t].configurations.size()); ++c) {
        if (c == base[t] || attempts_.size() + 1 >= options_.most_configurations) continue;
        attempts_.push_back({.tuning = t, .configuration = c});
      }
    }
  }

  const Attempt* attempt_of(size_t tuning, int configuration) const {
    if (base_configurations_[tuning] == configuration) return &base_;
    const auto found = std::ranges::find_if(attempts_, [&](const Attempt& attempt) {
      return attempt.tuning == tuning && attempt.configuration == configuration;
    });
    return found == attempts_.end() ? nullptr : &*found;
  }

  RecordRequest request_with(const std::vector<int>& choice) const {
    RecordRequest request = request_;
    request.configurations = choice;
    return request;
  }

  std::optional<JobFault> build() {
    std::vector<RecordRequest> requests;
    for (const Attempt& attempt : attempts_) {
      std::vector<int> choice = base_configurations_;
      choice[attempt.tuning] = attempt.configuration;
      requests.push_back(request_with(choice));
    }
    auto outcomes = build_tasks(workers_, requests, build_plan(options_));
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].fault && is_workers_fault(*outcomes[i].fault)) {
        outcomes[i] = build_and_blame(workers_, requests[i], build_plan(options_));
      }
      JobOutcome<Task> task = adopted_of(outcomes[i]);
      if (!task.fault) {
        attempts_[i].task = std::move(task.value);
      } else if (task.fault->code == "varies" || is_workers_fault(*task.fault)) {
        return task.fault;
      } else {
        attempts_[i].reason = task.fault->text();
      }
    }
    return std::nullopt;
  }

  JobOutcome<Task> adopted_of(const JobOutcome<BuiltTask>& outcome) const {
    if (outcome.fault) return {std::nullopt, outcome.fault};
    if (outcome.value->tunings != built_.tunings) return {std::nullopt, changing_choice(request_)};
    return adopted(reference_, canonical(outcome.value->task), request_);
  }

  void time(Attempt& attempt) {
    const HeldTask held(executor_, *attempt.task);
    TimeRequest request;
    request.tasks = {reference_.id, held.id()};
    request.rounds = kSelectionRounds;
    request.max_seconds = options_.timing_seconds;
    request.seed = options_.seed;
    const TimeReport report = executor_.time(request, options_.trial_deadline);
    if (!report.ok()) {
      attempt.reason = report.message;
      return;
    }
    attempt.device_ms = median(report.device_ms[1]);
    attempt.speedup = median_ratio(report.device_ms[0], report.device_ms[1]).estimate;
  }

  std::optional<JobFault> take_choice() {
    built_.configurations = choice_;
    if (choice_ == base_configurations_) return std::nullopt;
    for (Attempt& attempt : attempts_) {
      std::vector<int> choice = base_configurations_;
      choice[attempt.tuning] = attempt.configuration;
      if (choice != choice_) continue;
      built_.task = std::move(*attempt.task);
      return std::nullopt;
    }
    const auto outcome = build_and_blame(workers_, request_with(choice_), build_plan(options_));
    JobOutcome<Task> task = adopted_of(outcome);
    if (task.fault) return task.fault;
    built_.task = std::move(*task.value);
    return std::nullopt;
  }

  Workers& workers_;
  Executor& executor_;
  const Reference& reference_;
  const RecordRequest& request_;
  const VerifyOptions& options_;
  BuiltTask& built_;
  const std::vector<int> base_configurations_ = built_.configurations;
  std::vector<int> choice_;
  Attempt base_;
  std::vector<Attempt> attempts_;
};

}  // namespace

void Verifier::judge_built(const Reference& reference, const RecordRequest& request,
                           const VerifyOptions& options, BuiltTask& built, Verdict& verdict) {
  JobOutcome<Task> task = adopted(reference, built.task, request);
  if (task.fault) return end_unbuilt(verdict, *task.fault);
  const auto weights = weight_names(reference.task, built.task);
  built.task = std::move(*task.value);
  if (!built.tunings.empty()) {
    ConfigurationChoice choice(workers_, executor_, reference, request, options, built);
    if (options.time) {
      if (const auto fault = choice.run()) return end_unbuilt(verdict, *fault);
    }
    verdict.configurations = choice.results();
  }
  judge(reference, built.task, options, verdict);
  check_other_numbers(reference, request, options, verdict);
  if (!options.run_file || verdict.outcome != Verdict::Outcome::kAccepted) return;
  const FileReport file = try_file(workers_, request, weights, built.task, options.file_deadline);
  verdict.file = file.does;
  verdict.file_reason = file.reason;
}

}  // namespace kw
