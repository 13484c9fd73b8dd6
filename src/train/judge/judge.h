// Who says what answers are worth. Torch-free, so that a run can be tested with a judge of another
// kind. One caller at a time, on any thread; never touches a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"
#include "train/step/objectives.h"

namespace kw {

struct AnswerToJudge {
  std::shared_ptr<const Task> task;  // that it is to stand for: a whole program as one fragment
  std::string text;                  // as parse_answer() takes it apart
  bool cut_off = false;              // there was no room for its end
};

struct Judgement {
  // Nothing: not judged. That says nothing of the answer, which is left out of its group.
  std::optional<Judged> judged;
  std::string stage;   // that it was rejected at (stage_name); empty otherwise
  std::string reason;  // of a rejection, or why it was not judged; one line
};

// Seconds of judging a batch, of its distinct answers.
struct JudgeTimes {
  double wall = 0;            // in it, at the same time:
  double build = 0;           // recording and compiling, in the mean over workers,
  double executor = 0;        // trials and times, in the mean over processes
  double half = 0, most = 0;  // from the start until half of them were judged, and 95 of 100
  double longest_build = 0;   // of one answer
  int64_t restarts = 0;       // processes that took the place of dead ones
  // A model's opinion (reviewed_judge.h): seconds, questions, and answers that none came of.
  double asking = 0;
  int64_t asked = 0, no_opinions = 0;
};

struct JudgeReport {
  std::vector<Judgement> judgements;  // in the order of the answers
  int64_t distinct = 0;               // answers that were judged; others are the same as these
  JudgeTimes times;
};

class Judge {
 public:
  virtual ~Judge() = default;
  // `seed` is that of inputs and parameters. EnvironmentError where the machine is at fault.
  virtual JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t seed) = 0;
};

}  // namespace kw
