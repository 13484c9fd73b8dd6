#include "train/judge/reviewed_judge.h"

#include <chrono>
#include <map>

#include "formats/base/error.h"
#include "formats/base/on_threads.h"
#include "policy/chat/prompt.h"

namespace kw::train {
namespace {

using Clock = std::chrono::steady_clock;

Opinion opinion_on(const Task& task, const std::string& code, Reviewer& reviewer,
                   Clock::time_point deadline) {
  std::string reference;
  try {
    reference = task_text(task);
  } catch (const InputError& error) {  // the task cannot be written as text
    Opinion none;
    none.fault = error.what();
    return none;
  }
  return reviewer.review(reference, code, deadline);
}

}  // namespace

ReviewedJudge::ReviewedJudge(Judge& verdicts, std::unique_ptr<Reviewer> reviewer, int at_once)
    : verdicts_(verdicts), reviewer_(std::move(reviewer)), at_once_(at_once) {}

JudgeReport ReviewedJudge::judge(const std::vector<AnswerToJudge>& answers, uint64_t seed) {
  JudgeReport out = verdicts_.judge(answers, seed);
  const auto start = Clock::now();
  std::map<std::pair<const Task*, std::string>, Opinion> found;  // by task and code
  std::vector<const Opinion*> of_answer(answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto& judged = out.judgements[i].judged;
    if (!judged || !judged->correct) continue;
    of_answer[i] = &found[{answers[i].task.get(), parse_answer(answers[i].text).source}];
  }
  std::vector<decltype(found)::pointer> open;
  for (auto& one : found) open.push_back(&one);
  const Clock::time_point deadline = reviewer_->deadline();  // of all questions: a step waits
  on_threads(at_once_, open.size(), [&](size_t i) {
    const auto& [task, code] = open[i]->first;
    open[i]->second = opinion_on(*task, code, *reviewer_, deadline);
  });
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!of_answer[i]) continue;
    if (!of_answer[i]->fault.empty()) {
      ++out.times.no_opinions;
    } else if (!of_answer[i]->is_functional()) {
      out.judgements[i] = {Judged{}, "opinion", opinion_text(*of_answer[i])};
    }
  }
  out.times.asked = static_cast<int64_t>(open.size());
  out.times.asking = std::chrono::duration<double>(Clock::now() - start).count();
  out.times.wall += out.times.asking;
  return out;
}

}  // namespace kw::train
