// Verdicts, less the answers that a reviewer calls not functional (policy/chat/reviewer.h):
// valid = syntax * functional, as TritonRL has it (arXiv:2510.17891). The reviewer is asked only
// about answers that the verdict accepts, as no reward is paid for others, and once about equal
// answers to one task. An answer without an opinion keeps its verdict. An endpoint that is down
// therefore changes rewards, and the report counts such answers.
#pragma once

#include "policy/chat/reviewer.h"
#include "train/judge/judge.h"

namespace kw::train {

class ReviewedJudge : public Judge {
 public:
  // Borrows the judge of verdicts. At most `at_once` questions are under way.
  ReviewedJudge(Judge& verdicts, std::unique_ptr<Reviewer> reviewer, int at_once);
  // Judges answers. One that is called not functional is not valid; its stage is "opinion". Throws
  // InputError if the endpoint refuses all questions.
  JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t seed) override;

 private:
  Judge& verdicts_;
  const std::unique_ptr<Reviewer> reviewer_;
  const int at_once_;
};

}  // namespace kw::train
