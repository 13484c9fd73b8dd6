// Which trials a candidate goes through, and what their reports, together, say of it.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "verify/options.h"

namespace kw {

// How many fresh input sets a task is tried on when nobody says: five, and two where every output
// has so many elements that they say as much of an error, when sets are varied besides.
int usual_trials(const Task& reference, const VerifyOptions& options);

// Fresh input sets, then varied ones. The ids are the executor's.
std::vector<TrialRequest> plan_trials(const Task& reference, int reference_id, int candidate_id,
                                      const VerifyOptions& options);

class TrialJudge {
 public:
  explicit TrialJudge(const VerifyOptions& options) : options_(options) {}  // must outlive this
  // Why the candidate is wrong by this trial, whose report is "ok", "failed" or "died"; empty when
  // it is right or the trial says nothing. InputError when the reference fails on inputs as it
  // draws them.
  std::string add(const TrialRequest& request, TrialReport report);
  // Why it is wrong by all that was added; empty when it is right.
  std::string together() const;

  const Json& evidence() const { return evidence_; }  // an element a trial
  const std::vector<int>& idle_launches() const { return idle_launches_; }
  // Whether zeros, or the answer to other inputs, would pass.
  bool degenerate() const { return degenerate_; }

 private:
  bool checked(std::string_view check) const { return !options_.without.contains(check); }
  std::string fault(const TrialRequest& request, const TrialReport& report) const;
  // Why a varied set says nothing; empty when it says something.
  std::string reason_to_skip(TrialReport& report) const;

  const VerifyOptions& options_;
  Json evidence_ = Json::array();
  ErrorPool pool_;
  // Of three trials. A right kernel fails in 1 of 20,000 (F distribution with 3 and 3 degrees of
  // freedom beyond 1024), and in fewer where the floor counts.
  ErrorPool uneven_{8};
  bool finite_task_ = true;  // on inputs as it draws them
  std::vector<int> idle_launches_;
  bool degenerate_ = false;
};

}  // namespace kw
