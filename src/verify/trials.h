// Which trials a candidate goes through, and what their reports, together, say of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"
#include "verify/coverage/coverage.h"
#include "verify/numerics/domain.h"
#include "verify/options.h"

namespace kw {

// Returns whether varied sets are tried. Published numbers come from inputs as a task draws them.
bool varies(const VerifyOptions& options);

// Returns on how many fresh input sets a task is tried by default. These are five, or two if varied
// sets follow and every output has so many elements that two say as much about an error.
int usual_trials(const Task& reference, const VerifyOptions& options);

struct LoadedPair {
  const Task& reference;
  int reference_id = 0, candidate_id = 1;  // the executor's
};

// Returns the trials on fresh input sets, then those on varied ones.
std::vector<TrialRequest> plan_trials(const LoadedPair& tasks, const VerifyOptions& options);

// Returns the trials that replace a varied set that said nothing. They vary each input or parameter
// alone, as the domain of one is not that of the others, or parameters that keep their signs.
std::vector<TrialRequest> trials_instead(const TrialRequest& said_nothing, const Task& reference);

class TrialJudge {
 public:
  // `options` must outlive this.
  TrialJudge(const VerifyOptions& options, const Task& reference)
      : options_(options),
        by_index_(outputs_by_index(reference)),
        index_outputs_(index_outputs(reference)),
        by_conversion_(outputs_by_conversion(reference)),
        takes_roots_(takes_roots(reference)) {}
  // Returns why the candidate is wrong by this trial, whose report is judged. Empty if the
  // candidate is right or the trial says nothing. Throws InputError if the reference fails on
  // inputs as it draws them.
  std::string add(const TrialRequest& request, TrialReport report);
  // Returns whether only the size of errors is against the candidate, and by so little that the
  // reference's luck may explain it. Then the trials are run once more by a new TrialJudge, with
  // TrialRequest::neighbours. With it the reference's error is at least its error on neighbouring
  // inputs, which are about a unit in the last place off.
  bool in_doubt() const { return in_doubt_; }
  // Returns whether the last trial said nothing.
  bool said_nothing() const { return said_nothing_; }
  // Returns why the candidate is wrong by all trials together; empty if it is right.
  std::string together();

  const Json& evidence() const { return evidence_; }  // an element a trial
  // What all trials together found out about the candidate's launches.
  LaunchFindings launches() const;
  // Whether zeros, or the answer to other inputs, would pass.
  bool degenerate() const { return degenerate_; }
  // Returns whether all outputs on inputs as the task draws them pass KernelBench's comparison,
  // under any tolerance. Nothing without such a trial.
  std::optional<bool> allclose() const { return allclose_; }

 private:
  bool checked(std::string_view check) const { return !options_.without.contains(check); }
  std::string fault(const TrialRequest& request, const TrialReport& report);
  void add_copies(const LaunchCopies& found);
  // Whether an output may be anything in such a trial.
  bool is_free(size_t output, Variation variation) const;
  // Why a varied set says nothing; empty when it says something.
  std::string reason_to_skip(const TrialRequest& request, TrialReport& report) const;

  const VerifyOptions& options_;
  const std::set<size_t> by_index_, index_outputs_, by_conversion_;
  const bool takes_roots_;
  std::vector<double> usual_rms_;  // of the outputs, on inputs as the task draws them
  bool said_nothing_ = false, in_doubt_ = false;
  Json evidence_ = Json::array();
  ErrorPool pool_;
  // Of three trials. A right kernel fails in 1 of 20,000 (F distribution with 3 and 3 degrees of
  // freedom beyond 1024), and in fewer where the floor counts.
  ErrorPool uneven_{8};
  bool finite_task_ = true;  // on inputs as it draws them
  std::vector<int> idle_launches_;
  std::map<int, std::vector<LaunchCopy>> copies_;  // by step: as the first trial found them
  std::set<int> others_than_copies_;
  bool degenerate_ = false;
  std::optional<bool> allclose_;
};

}  // namespace kw
