#include "eval/run/eval_session.h"

#include <algorithm>

#include "eval/run/eval_summary.h"
#include "eval/suite/suite_search.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

// Returns the result of a model of which no task could be made.
SuiteResult unusable_result(const SuiteModel& model, size_t policy) {
  SuiteResult result;
  result.policy = policy;
  result.model = model.request.file;
  result.fault = model.fault->text();
  result.fault_code = model.fault->code;
  result.is_workers_fault = is_workers_fault(*model.fault);
  return result;
}

// Adds the line of the model at `place`. Throws InputError if it is no line of eval's.
void count_line(const Json& line, size_t place, JudgedPolicy& judged) {
  const JsonReader in(line, "line of " + line.value("model", "a model"));
  ++judged.outcomes[in.at("outcome").string()];
  judged.tasks.emplace(place, answers_of(in));
}

}  // namespace

EvalSession::EvalSession(EvalSessionOptions options, const std::vector<SuiteModel>& models,
                         std::vector<size_t> places, std::vector<JudgedPolicy> policies,
                         const DeviceProfile& profile, Executor& executor, SharedZygote& zygote)
    : options_(std::move(options)),
      models_(models),
      places_(std::move(places)),
      model_count_(places_.size()),
      policies_(std::move(policies)),
      profile_(profile),
      executor_(executor),
      zygote_(zygote) {}

size_t EvalSession::resume(EvalLines& lines) {
  lines_ = &lines;
  resumed_ += std::erase_if(places_, [&](size_t place) {
    const auto known = lines.of(models_[place].request.file);
    for (size_t i = 0; known && i < policies_.size(); ++i) {
      count_line((*known)[i], place, policies_[i]);
    }
    return known.has_value();
  });
  return resumed_;
}

void EvalSession::judge(EvalSink& sink) {
  std::vector<RecordRequest> requests;
  std::vector<size_t> places;  // of the models that the requests are for
  for (size_t place : places_) {
    if (models_[place].fault) continue;
    requests.push_back(models_[place].request);
    places.push_back(place);
  }
  if (!requests.empty()) {  // fail early, before anything is judged
    executor_.hello();
    for (const JudgedPolicy& each : policies_) each.policy->prepare();
  }
  for (size_t place : places_) {
    if (!models_[place].fault) continue;
    for (size_t i = 0; i < policies_.size(); ++i) {
      take(unusable_result(models_[place], i), place, sink);
    }
  }
  if (requests.empty()) return;
  const auto done = [&](const SuiteResult& result) { take(result, places[result.place], sink); };
  if (options_.search) {
    search_models(requests, done);
  } else {
    judge_suite(requests, done);
  }
}

void EvalSession::take(const SuiteResult& result, size_t place, EvalSink& sink) {
  JudgedPolicy& own = policies_[result.policy];
  const SuiteModel& model = models_[place];
  Json line = to_json(result);
  if (!own.label.empty()) line["label"] = own.label;
  if (!model.level.empty()) line["level"] = model.level;
  if (lines_) lines_->begin();  // what marks the folder as this run's is there before its files
  if (!options_.out.empty()) {
    sink.write(result, model, own.folder);
    const std::filesystem::path files = own.folder.lexically_relative(options_.out) / model.name;
    line["files"] = files.lexically_normal().generic_string();
  }
  count_line(line, place, own);
  if (lines_) lines_->add(line);  // after the files that it speaks of
  ++judged_lines_;
  sink.show(result, line, own.label);
}

void EvalSession::judge_suite(const std::vector<RecordRequest>& requests,
                              const std::function<void(const SuiteResult&)>& done) {
  size_t samples = 0;
  std::vector<Policy*> policies;
  for (size_t i = 0; i < policies_.size(); ++i) {
    samples += requests.size() * static_cast<size_t>(options_.suite.samples_of(i));
    policies.push_back(policies_[i].policy.get());
  }
  const size_t jobs = std::min<size_t>(samples, options_.workers.parallel);
  JudgingCrew crew(options_.workers, static_cast<int>(jobs), &zygote_);
  Suite(crew, executor_, std::move(policies), profile_).run(requests, options_.suite, done);
}

// There are half as many searches as cores: while one waits for its turn on the device, others
// build. No more than half of them build at a time, so each has four workers.
void EvalSession::search_models(const std::vector<RecordRequest>& requests,
                                const std::function<void(const SuiteResult&)>& done) {
  WorkerConfig workers = options_.workers;
  const size_t searches = std::max(1, workers.parallel / 2);
  workers.parallel = std::min(4, workers.parallel);
  JudgingCrew crew(workers, static_cast<int>(std::min(requests.size(), searches)), &zygote_);
  const ScratchFolder known;
  search_suite(requests, crew, executor_, *policies_.front().policy, profile_, *options_.search,
               known.path() / "store.sqlite", done);
}

std::vector<PolicySummary> EvalSession::summarize() const {
  std::vector<PolicySummary> out;
  for (size_t i = 0; i < policies_.size(); ++i) {
    std::vector<TaskAnswers> all;
    std::map<std::string, std::vector<TaskAnswers>> levels;
    for (const auto& [place, answers] : policies_[i].tasks) {
      all.push_back(answers);
      levels[models_[place].level].push_back(answers);
    }
    PolicySummary& summary = out.emplace_back();
    summary.all = measure_suite(all, options_.suite, i);
    if (levels.size() < 2) continue;
    for (const auto& [level, answers] : levels) {
      summary.levels[level] = measure_suite(answers, options_.suite, i);
    }
  }
  return out;
}

}  // namespace kw
