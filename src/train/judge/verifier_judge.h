// The judge of a real run: each answer is built and verified like a stranger's candidate. The task
// is the whole program as one fragment, and no computing PyTorch operator may be left in the
// answer.
//
// - valid: it loads, records, compiles and does the work in its kernels (the stages up to
// coverage).
// - correct: it is accepted.
// - speedup: over eager PyTorch, the lower end of its interval. Without timing, a right answer
// counts
//   as fast as eager (1). With 0, "not timed", it would get the speed reward of a wrong answer
//   (objectives.h).
//
// An answer is not judged if zeros or another answer would pass too (Verdict::degenerate). Each
// answer has separate deadlines for building and trials: one that hangs is rejected, and the others
// do not wait for it.
//
// Owns its workers, which live as long as it does, and borrows the executor.
#pragma once

#include "train/judge/judge.h"
#include "verify/batch/batch.h"

namespace kw::train {

struct VerifierJudgeOptions {
  int jobs = 0;                                   // threads that build; 0: one for each core
  int trials = 0;                                 // as in VerifyOptions
  bool time = true;                               // whether right answers are timed, on a GPU
  double build_seconds = 20, trial_seconds = 10;  // deadlines of one answer
  Sanitizer* sanitizer = nullptr;                 // as in VerifyOptions, of right answers
  double sanitized_share = 0;
};

// Returns the judgement that follows from a verdict. `timed` says whether right answers are timed.
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

}  // namespace kw::train
