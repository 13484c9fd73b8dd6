#include "verify/batch/batch.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include "formats/base/error.h"
#include "formats/base/sha256.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kEqual = "equal";

std::string request_digest(const RecordRequest& request) {
  return sha256_hex(sha256_hex(request.text) + request.cls + "\n" + request.folder.string() +
                    (request.modules.empty() ? "" : "\n" + request.modules));
}

std::string reference_digest(const BatchItem& item) {
  return item.task ? canonical_hash(*item.task) : request_digest(item.reference);
}

// All that a verdict on a candidate of one reference depends on, before anything is compiled. Names
// of files are no part of it.
std::string program_digest(const Recorded& recorded, const std::vector<std::string>& slices) {
  Json task = to_json(recorded.task);
  task.erase("source");
  return sha256_hex(Json({std::move(task), slices}).dump());
}

// A reference while candidates of it are left. The first thread that needs it prepares it.
struct SharedReference {
  std::once_flag prepared;
  Reference reference;
  std::string fault;
  std::atomic<size_t> left{0};  // jobs
};

// Items with the same texts.
struct JobOfItems {
  std::string digest;  // of the reference
  std::vector<const BatchItem*> items;
  SharedReference* reference = nullptr;
};

// What became of a candidate: a verdict, or what is wrong with its reference.
struct Outcome {
  Verdict verdict;
  std::shared_ptr<const Task> program;
  std::string fault;
  std::optional<std::string> recorded_again;
};

// A program under judgement, or judged. Jobs that turn out to be it wait here, not in a thread.
struct KnownProgram {
  const BatchItem* judged = nullptr;
  std::optional<Outcome> outcome;
  std::vector<std::pair<const JobOfItems*, Clock::time_point>> waiting;
};

class BatchRun {
 public:
  BatchRun(const std::vector<BatchItem>& items, Executor& executor, const DeviceProfile& profile,
           const VerifyOptions& options, const std::function<void(const BatchResult&)>& done)
      : executor_(executor), profile_(profile), options_(options), done_(done) {
    plan(items);
  }

  void run(JudgingCrew& crew) {
    crew.run(jobs_.size(), [this](WorkerPool& pool, size_t i) {
      Verifier verifier(pool, executor_, profile_, &kernels_);
      judge(verifier, *jobs_[i]);
    });
  }

 private:
  // Jobs in the order of their references' first items, so that few references are alive at once.
  void plan(const std::vector<BatchItem>& items) {
    std::map<std::string, SharedReference*> references;
    std::map<std::string, JobOfItems*> jobs;
    std::map<const SharedReference*, std::vector<JobOfItems*>> by_reference;
    for (const BatchItem& item : items) {
      const std::string digest = reference_digest(item);
      SharedReference*& reference = references[digest];
      if (!reference) reference = &references_.emplace_back();
      JobOfItems*& job = jobs[digest + request_digest(item.candidate) + item.settings];
      if (!job) {
        job = &all_.emplace_back();
        job->digest = digest;
        job->reference = reference;
        ++reference->left;
        by_reference[reference].push_back(job);
      }
      job->items.push_back(&item);
    }
    // As many references at a time as there are processes for their trials, in turn.
    const size_t together = executor_.processes();
    for (size_t first = 0; first < references_.size(); first += together) {
      const size_t end = std::min(first + together, references_.size());
      size_t most = 0;
      for (size_t r = first; r < end; ++r) {
        most = std::max(most, by_reference[&references_[r]].size());
      }
      for (size_t i = 0; i < most; ++i) {
        for (size_t r = first; r < end; ++r) {
          const std::vector<JobOfItems*>& mine = by_reference[&references_[r]];
          if (i < mine.size()) jobs_.push_back(mine[i]);
        }
      }
    }
  }

  void judge(Verifier& verifier, const JobOfItems& job) {
    const Clock::time_point start = Clock::now();
    SharedReference& shared = *job.reference;
    prepare(verifier, *job.items.front(), shared);
    std::optional<Outcome> outcome = Outcome{{}, nullptr, shared.fault};
    if (shared.fault.empty()) outcome = judge_new(verifier, job, start);
    if (outcome) report(job, job.items.front(), *outcome, start);
    if (--shared.left == 0 && shared.fault.empty()) executor_.unload(shared.reference.id);
  }

  void prepare(Verifier& verifier, const BatchItem& item, SharedReference& shared) {
    std::call_once(shared.prepared, [&] {
      try {
        shared.reference =
            item.task ? verifier.prepare(*item.task) : verifier.prepare(item.reference, options_);
      } catch (const InputError& error) {
        shared.fault = error.what();
      }
    });
  }

  // Nothing when another job's outcome is this one's.
  std::optional<Outcome> judge_new(Verifier& verifier, const JobOfItems& job,
                                   Clock::time_point start) {
    RecordRequest request = job.items.front()->candidate;
    request.profile = profile_;
    VerifyOptions options = options_;
    if (const std::string& package = job.items.front()->compiled_package; !package.empty()) {
      options.compiled_package = package;
    }
    Outcome out;
    std::string key;
    bool is_known = false;
    // The program alone does not say what else an autotuned candidate could choose, nor what its
    // file does.
    const auto claim_program = [&](const CandidateBuild& build) {
      if (!build.recorded()->tunings.empty() || options.run_file) return true;
      const std::string digest = job.digest + program_digest(*build.recorded(), build.slices());
      is_known = !claim(digest, job, start);
      if (!is_known) key = digest;
      return !is_known;
    };
    try {
      BuiltTask built;
      if (verifier.build(request, options, out.verdict, built, claim_program)) {
        verifier.judge_built(job.reference->reference, request, options, built, out.verdict);
      }
      if (is_known) return std::nullopt;
      if (out.verdict.outcome == Verdict::Outcome::kAccepted) {
        out.program = std::make_shared<const Task>(std::move(built.task));
        if (!job.items.front()->task &&
            is_in_sample("record again", out.verdict.program, options.record_again)) {
          out.recorded_again = record_again(verifier, job, *out.program);
        }
      }
    } catch (const InputError& error) {  // the reference's fault, found on a trial
      out.fault = error.what();
    }
    if (!key.empty()) settle(key, out);
    return out;
  }

  // Nothing if a worker is at fault, so that nothing is known.
  std::optional<std::string> record_again(Verifier& verifier, const JobOfItems& job,
                                          const Task& program) const {
    const auto python = verifier.exported(job.reference->reference, job.items.front()->reference,
                                          program, options_);
    if (!python.fault) return "";
    if (is_workers_fault(*python.fault)) return std::nullopt;
    return python.fault->text();
  }

  // Whether this job is the first with the program `key`; if not, it is reported with the first.
  bool claim(const std::string& key, const JobOfItems& job, Clock::time_point start) {
    std::unique_lock lock(mutex_);
    const auto [found, fresh] = programs_.try_emplace(key);
    KnownProgram& program = found->second;
    if (fresh) {
      program.judged = job.items.front();
      return true;
    }
    if (!program.outcome) {
      program.waiting.emplace_back(&job, start);
      return false;
    }
    lock.unlock();
    report(job, program.judged, *program.outcome, start);
    return false;
  }

  void settle(const std::string& key, const Outcome& outcome) {
    std::unique_lock lock(mutex_);
    KnownProgram& program = programs_.at(key);
    program.outcome = outcome;
    const auto waiting = std::move(program.waiting);
    lock.unlock();
    for (const auto& [job, start] : waiting) report(*job, program.judged, outcome, start);
  }

  void report(const JobOfItems& job, const BatchItem* judged, const Outcome& outcome,
              Clock::time_point start) {
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> seconds = now - start, finished = now - start_;
    const std::lock_guard lock(report_mutex_);
    for (const BatchItem* item : job.items) {
      done_({item, outcome.verdict, outcome.program, outcome.fault, outcome.recorded_again,
             item == judged ? "" : judged->id, seconds.count(), finished.count()});
    }
  }

  const Clock::time_point start_ = Clock::now();
  Executor& executor_;
  const DeviceProfile& profile_;
  const VerifyOptions& options_;
  const std::function<void(const BatchResult&)>& done_;
  KernelCache kernels_;
  std::deque<SharedReference> references_;
  std::deque<JobOfItems> all_;
  std::vector<const JobOfItems*> jobs_;
  std::mutex mutex_, report_mutex_;
  std::map<std::string, KnownProgram> programs_;
};

}  // namespace

std::string BatchItem::digest() const {
  return sha256_hex(reference_digest(*this) + request_digest(candidate) + settings);
}

std::string_view outcome_name(BatchOutcome outcome) {
  return outcome == BatchOutcome::kFault ? "fault"
                                         : outcome_name(static_cast<Verdict::Outcome>(outcome));
}
BatchOutcome BatchResult::outcome() const {
  return fault.empty() ? static_cast<BatchOutcome>(verdict.outcome) : BatchOutcome::kFault;
}
BatchOutcome batch_outcome_from_json(const JsonReader& in) {
  return in.has("fault") ? BatchOutcome::kFault
                         : static_cast<BatchOutcome>(outcome_from_json(in.at("outcome")));
}

void RecordedAgain::add(const Json& line) {
  if (!line.value("same_as", Json()).is_null()) return;  // counted with the other
  const Json found = line.value("recorded_again", Json());
  if (found.is_null()) return;
  ++count;
  equal += found == kEqual;
}

void Sanitized::add(const Json& line) {
  if (!line.value("same_as", Json()).is_null()) return;  // counted with the other
  const Json report = line.value("sanitizer", Json());
  if (report.is_null()) return;
  ++count;
  found += !report["findings"].empty();
  failed += report.contains("fault");
}

void verify_batch(const std::vector<BatchItem>& items, JudgingCrew& crew, Executor& executor,
                  const DeviceProfile& profile, const VerifyOptions& options,
                  const std::function<void(const BatchResult&)>& done) {
  BatchRun(items, executor, profile, options, done).run(crew);
}

Json to_json(const BatchResult& result) {
  Json out = {{"id", result.item->id}, {"digest", result.item->digest()}};
  if (!result.fault.empty()) {
    out["fault"] = result.fault;
    return out;
  }
  const Verdict& verdict = result.verdict;
  out["outcome"] = outcome_name(verdict.outcome);
  out["rejected_at"] = verdict.rejected_at ? Json(stage_name(*verdict.rejected_at)) : Json();
  out["reason"] = verdict.reason;
  out["share"] = verdict.share;
  out["speedup_eager"] = interval_to_json(verdict.speedup_eager);
  out["speedup_compile"] = interval_to_json(verdict.speedup_compile);
  out["degenerate"] = verdict.degenerate;
  out["program"] = verdict.program;
  out["file"] = file_does_name(verdict.file);
  out["file_reason"] = verdict.file_reason;
  out["key"] = verdict.key;
  out["recorded_again"] = nullptr;
  if (const auto& fault = result.recorded_again) {
    out["recorded_again"] = fault->empty() ? kEqual : *fault;
  }
  if (const Json* sanitizer = sanitizer_evidence(verdict)) out["sanitizer"] = *sanitizer;
  out["same_as"] = result.same_as.empty() ? Json() : Json(result.same_as);
  out["seconds"] = result.seconds;
  out["finished"] = result.finished;
  for (const StageResult& stage : verdict.stages) {
    out["stages"][std::string(stage_name(stage.stage))] = stage.seconds;
    if (stage.evidence.contains("ratios")) out["ratios"] = stage.evidence["ratios"];
  }
  out["phases"] = phase_seconds(verdict);
  return out;
}

}  // namespace kw
