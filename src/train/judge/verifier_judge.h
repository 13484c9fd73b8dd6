// The judge that counts: each answer is built and verified like any stranger's candidate, on the
// whole program as a fragment of which no PyTorch operator may be left that computes.
//
// valid: it loads, records, compiles and does the work itself (the stages up to coverage). correct:
// it is accepted. speedup: over eager PyTorch, the lower end of its interval, where times are
// measured. Where they are not, a right answer counts as fast as eager, 1: with 0, "not timed",
// rewards of speed (objectives.h) would be those of wrong answers.
//
// An answer to a task that zeros or another answer would pass for too (Verdict::degenerate) is not
// judged. Deadlines of building and of trials are an answer's own: one that hangs is rejected, and
// the others wait for nothing.
//
// Owns its workers, which live as long as it does, and borrows the executor.
#pragma once

#include "train/judge/judge.h"
#include "verify/batch/batch.h"

namespace kw {

struct VerifierJudgeOptions {
  int jobs = 0;                                   // threads that build; 0: one for each core
  int trials = 0;                                 // of VerifyOptions
  bool time = true;                               // right answers, on a GPU
  double build_seconds = 20, trial_seconds = 10;  // deadlines of one answer
};

// What a verdict says of an answer. `timed`: right answers are timed.
Judgement judgement_of(const Verdict& verdict, bool timed);

class VerifierJudge : public Judge {
 public:
  // `shared`: the zygote of the judge's workers; null: they have a separate one.
  VerifierJudge(const WorkerConfig& workers, ExecutorClient& executor, const DeviceProfile& profile,
                const VerifierJudgeOptions& options, SharedZygote* shared = nullptr);
  JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t seed) override;

 private:
  VerifyOptions verify_options(uint64_t seed) const;

  ExecutorClient& executor_;
  const DeviceProfile& profile_;
  const VerifierJudgeOptions options_;
  bool timed_ = false;
  JudgingCrew crew_;
};

}  // namespace kw
