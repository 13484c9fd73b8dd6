// The interface of a judge, which finds what answers are worth. Torch-free, so that a run can be
// tested with another judge. One caller at a time, on any thread. A judge never touches a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"
#include "train/step/objectives.h"

namespace kw::train {

struct AnswerToJudge {
  std::shared_ptr<const Task> task;  // what it answers: a whole program as one fragment
  std::string text;                  // as parse_answer() reads it
  bool cut_off = false;              // there was no room for its end
};

struct Judgement {
  // Empty if the answer was not judged. It is then left out of its group.
  std::optional<Judged> judged;
  std::string stage;    // the stage that rejected it (stage_name); empty otherwise
  std::string reason;   // why it was rejected or not judged, in one line
  std::string program;  // hash of the Program that was accepted; empty otherwise
};

// The time, in seconds, that judging a batch's distinct answers takes.
struct JudgeTimes {
  double wall = 0;            // all; the next two pass at the same time
  double build = 0;           // recording and compiling, mean over workers
  double executor = 0;        // trials and timing, mean over processes
  double half = 0, most = 0;  // from the start until half, and 95 of 100, were judged
  double longest_build = 0;   // of one answer
  int64_t restarts = 0;       // executor processes that were restarted
  // Right answers that ran under compute-sanitizer: how many, in how many it found something, and
  // seconds.
  int64_t sanitized = 0, sanitizer_found = 0;
  double sanitizing = 0;
  // The reviewer (reviewed_judge.h): seconds, questions, and questions without an opinion.
  double asking = 0;
  int64_t asked = 0, no_opinions = 0;
};

struct JudgeReport {
  std::vector<Judgement> judgements;  // in the order of the answers
  int64_t distinct = 0;               // answers that were judged; the others equal one of these
  JudgeTimes times;
};

class Judge {
 public:
  virtual ~Judge() = default;
  // Judges answers. `seed` is the seed of inputs and parameters. Throws EnvironmentError for a
  // fault of the machine.
  virtual JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t seed) = 0;
};

}  // namespace kw::train
