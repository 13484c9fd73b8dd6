// Verdicts, less what a language model calls no kernel of its own (policy/chat/reviewer.h):
// valid = syntax * functional, as TritonRL has it (arXiv:2510.17891). Only answers that the verdict
// accepts are asked about, as no reward is paid for others, and equal ones to a task once. Where no
// opinion comes the verdict stands: an endpoint that is down changes rewards, and is counted.
#pragma once

#include "policy/chat/reviewer.h"
#include "train/judge/judge.h"

namespace kw {

class OpinionJudge : public Judge {
 public:
  // Borrows the judge of verdicts. At most `at_once` questions are under way.
  OpinionJudge(Judge& verdicts, std::unique_ptr<FunctionalJudge> opinions, int at_once);
  // An answer that is called not functional is not valid; its stage is "opinion". InputError where
  // the endpoint refuses all questions.
  JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t seed) override;

 private:
  Judge& verdicts_;
  const std::unique_ptr<FunctionalJudge> opinions_;
  const int at_once_;
};

}  // namespace kw
