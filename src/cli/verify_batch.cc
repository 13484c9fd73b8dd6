#include "cli/verify_batch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "cli/support/progress.h"
#include "formats/base/error.h"
#include "formats/base/exit_code.h"
#include "verify/batch/batch_file.h"
#include "worker/model_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// "an executor was busy 55 % of the time (load 3, time 12, trial 39, unload 1)".
std::string busy_text(const std::map<std::string, double>& busy, double seconds) {
  double sum = 0;
  std::string parts;
  const auto percent = [seconds](double x) {
    return std::to_string(std::lround(100 * x / seconds));
  };
  for (const auto& [kind, spent] : busy) {
    sum += spent;
    parts += (parts.empty() ? "" : ", ") + kind + " " + percent(spent);
  }
  return "an executor was busy " + percent(sum) + " % of the time (" + parts + ")";
}

// How far a batch is.
class BatchProgress {
 public:
  BatchProgress(size_t total, size_t before) : total_(total), before_(before), done_(before) {}
  void add(BatchOutcome outcome) {
    ++counts_[outcome];
    ++done_;
    if (!line_.is_due(done_ == total_)) return;
    char speed[40];
    std::snprintf(speed, sizeof(speed), "  %.1f verdicts/s", rate());
    line_.show(std::to_string(done_) + " of " + std::to_string(total_) + "  " + counts() + speed);
  }
  std::string counts() const {
    std::string out;
    for (const auto& [outcome, count] : counts_) {
      out += (out.empty() ? "" : ", ") + std::to_string(count) + " " +
             std::string(outcome_name(outcome));
    }
    return out;
  }
  double rate() const { return static_cast<double>(done_ - before_) / seconds(); }
  double seconds() const {
    return std::max(1e-9, std::chrono::duration<double>(Clock::now() - start_).count());
  }

 private:
  const size_t total_, before_;
  size_t done_;
  std::map<BatchOutcome, size_t> counts_;
  const Clock::time_point start_ = Clock::now();
  PacedLine line_;
};

}  // namespace

int run_batch(const BatchFlags& flags, const MachineFlags& machine_flags, VerifyOptions options,
              const std::string& settings) {
  if (options.width != 0) time_for_rewards(options);  // 0: as for people
  SessionConfig config = machine_flags.session_config({});
  std::vector<BatchItem> items = read_batch(flags.file, config.profile, settings);
  const std::string out = flags.out.empty() ? flags.file + ".results.jsonl" : flags.out;
  BatchResults results(out, items);
  std::map<BatchOutcome, size_t> outcomes;
  for (const auto& [id, outcome] : results.done()) ++outcomes[outcome];
  const size_t total = items.size(), before = results.done().size();
  std::erase_if(items, [&](const BatchItem& item) { return results.done().contains(item.id); });
  std::set<std::string> folders;
  for (const BatchItem& item : items) {
    for (const RecordRequest* request : {&item.reference, &item.candidate}) {
      if (!request->folder.empty()) folders.insert(package_root(request->folder).string());
    }
  }
  const auto sanitizer = sanitizer_for(flags.sanitize, config.executor);
  options.sanitizer = sanitizer.get();
  config.workers.visible.assign(folders.begin(), folders.end());

  Session session(config);
  const auto wanted = static_cast<size_t>(flags.jobs > 0 ? flags.jobs : session.workers.parallel);
  if (!items.empty()) session.executor.hello();
  {
    BatchProgress progress(total, before);
    JudgingCrew crew(session.workers, static_cast<int>(std::min(items.size(), wanted)),
                     &session.zygote);
    verify_batch(items, crew, session.executor, session.profile, options,
                 [&](const BatchResult& result) {
                   results.append(result);
                   ++outcomes[result.outcome()];
                   progress.add(result.outcome());
                 });
    if (!items.empty()) {
      std::printf("%.1f verdicts/s, %s\n", progress.rate(),
                  busy_text(session.executor.busy_seconds(), progress.seconds()).c_str());
    }
  }
  for (const auto& [outcome, count] : outcomes) {
    std::printf("%7zu %s\n", count, std::string(outcome_name(outcome)).c_str());
  }
  const RecordedAgain& again = results.recorded_again();
  if (again.count > 0) {
    std::printf("%7zu exports recorded again, %zu equal\n", again.count, again.equal);
  }
  if (const Sanitized& sanitized = results.sanitized(); sanitized.count > 0) {
    std::printf(
        "%7zu run under compute-sanitizer, %zu with findings%s\n", sanitized.count, sanitized.found,
        sanitized.failed ? (", " + std::to_string(sanitized.failed) + " not to their end").c_str()
                         : "");
  }
  std::printf("%s\n", out.c_str());
  if (again.equal < again.count) {
    flush_stdout();
    std::fprintf(stderr,
                 "error: of %zu exports recorded again, %zu gave another program than was judged "
                 "(recorded_again in %s). This is a fault of kernelwright: please report it\n",
                 again.count, again.count - again.equal, out.c_str());
    return kMachinesFault;
  }
  if (outcomes.contains(BatchOutcome::kFault)) return 2;
  return outcomes.contains(BatchOutcome::kNotJudged) ? 4 : 0;
}

}  // namespace kw
