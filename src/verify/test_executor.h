// For tests: an executor that starts no process.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "formats/base/error.h"
#include "runtime/executor.h"

namespace kw {

// Reports what its members say. Notes what it was asked.
class FakeExecutor : public Executor {
 public:
  // A report of a trial in which the candidate's outputs are as the reference's.
  static TrialReport right() {
    TrialReport report;
    report.status = ReplyStatus::kOk;
    OutputErrors errors;
    errors.dtype = "float32";
    errors.elements = errors.finite = 8192;
    errors.reference_rms = errors.candidate_rms = 1e-7;
    errors.reference_worst = errors.candidate_worst = 3e-7;
    errors.oracle_rms = errors.oracle_max = 1;
    report.outputs = {errors};
    return report;
  }

  std::string backend = "cpu";
  TrialReport trial_report = right();
  TimeReport time_report;
  bool restarts = true;  // trials() and time() throw if not
  std::vector<TrialRequest> tried;
  std::map<int, Task> loaded;  // and not unloaded

  Json hello() override { return {{"backend", backend}}; }
  int load(Task task) override {
    loaded.emplace(++last_id_, std::move(task));
    return last_id_;
  }
  void unload(int id) override { loaded.erase(id); }
  void trials(const std::vector<TrialRequest>& requests, std::chrono::milliseconds,
              const TakeReport& take) override {
    check_running();
    for (size_t i = 0; i < requests.size(); ++i) {
      tried.push_back(requests[i]);
      if (!take(i, trial_report)) return;
    }
  }
  TimeReport time(const TimeRequest&, std::chrono::milliseconds) override {
    check_running();
    return time_report;
  }
  ExamineReport examine(const ExamineRequest&, std::chrono::milliseconds) override { return {}; }
  void beside(int, const std::function<void()>& work) override { work(); }
  size_t processes() const override { return 1; }

 private:
  void check_running() const {
    if (!restarts) throw EnvironmentError("the executor does not start");
  }

  int last_id_ = 0;
};

}  // namespace kw
