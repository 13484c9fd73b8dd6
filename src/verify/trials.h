// Which trials a candidate goes through, and what their reports, together, say of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"
#include "verify/numerics/domain.h"
#include "verify/options.h"

namespace kw {

// How many fresh input sets a task is tried on when nobody says: five, and two where every output
// has so many elements that they say as much of an error, when sets are varied besides.
int usual_trials(const Task& reference, const VerifyOptions& options);

struct LoadedPair {
  const Task &reference, &candidate;
  int reference_id = 0, candidate_id = 1;  // the executor's
};

// Fresh input sets, then varied ones.
std::vector<TrialRequest> plan_trials(const LoadedPair& tasks, const VerifyOptions& options);

// What to try where a varied set said nothing: each input or parameter by itself (the domain of one
// is not that of the others), parameters that keep their signs.
std::vector<TrialRequest> trials_instead(const TrialRequest& said_nothing, const Task& reference);

class TrialJudge {
 public:
  // `options` must outlive this.
  TrialJudge(const VerifyOptions& options, const Task& reference)
      : options_(options),
        by_index_(outputs_by_index(reference)),
        index_outputs_(index_outputs(reference)),
        by_conversion_(outputs_by_conversion(reference)) {}
  // Why the candidate is wrong by this trial, whose report is "ok", "failed" or "died"; empty when
  // it is right or the trial says nothing. InputError when the reference fails on inputs as it
  // draws them.
  std::string add(const TrialRequest& request, TrialReport report);
  // Returns whether only the size of errors is against the candidate, and by so little that the
  // reference's luck may explain it. Then add() and together() have to be called again, with trials
  // on perturbed inputs.
  bool in_doubt() const { return in_doubt_; }
  // Whether the last one said nothing.
  bool said_nothing() const { return said_nothing_; }
  // Why it is wrong by all that was added; empty when it is right.
  std::string together();

  const Json& evidence() const { return evidence_; }  // an element a trial
  const std::vector<int>& idle_launches() const { return idle_launches_; }
  // Whether zeros, or the answer to other inputs, would pass.
  bool degenerate() const { return degenerate_; }
  // Whether all outputs on inputs as the task draws them pass as KernelBench compares them,
  // whatever the tolerance; by the trials that were added, none: of none.
  std::optional<bool> allclose() const { return allclose_; }

 private:
  bool checked(std::string_view check) const { return !options_.without.contains(check); }
  std::string fault(const TrialRequest& request, const TrialReport& report);
  // Whether an output may be anything in such a trial.
  bool is_free(size_t output, Variation variation) const;
  // Why a varied set says nothing; empty when it says something.
  std::string reason_to_skip(const TrialRequest& request, TrialReport& report) const;

  const VerifyOptions& options_;
  const std::set<size_t> by_index_, index_outputs_, by_conversion_;
  bool said_nothing_ = false, in_doubt_ = false;
  Json evidence_ = Json::array();
  ErrorPool pool_;
  // Of three trials. A right kernel fails in 1 of 20,000 (F distribution with 3 and 3 degrees of
  // freedom beyond 1024), and in fewer where the floor counts.
  ErrorPool uneven_{8};
  bool finite_task_ = true;  // on inputs as it draws them
  std::vector<int> idle_launches_;
  bool degenerate_ = false;
  std::optional<bool> allclose_;
};

}  // namespace kw
