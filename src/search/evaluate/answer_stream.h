// Streams the answers of a policy that draws them, to several tasks at once. Its caller wants one
// right answer to each task, and closes a question that has one.
//
// Separate threads ask the policy; one thread takes the answers. Runaway answers are not waited
// for: a model that repeats itself writes until its limit, many times as long as any answer that
// ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "policy/policy.h"
#include "search/evaluate/evaluator.h"

namespace kw {

class AnswerStream {
 public:
  struct Question {
    const Task& task;
    int count;  // of answers
    uint64_t seed;
  };
  struct Answer {
    size_t question;
    Proposal proposal;
  };

  // Borrows all but `questions`. Waits for no answer beyond the limit.
  AnswerStream(Policy& policy, const DeviceProfile& profile, std::vector<Question> questions,
               const SearchLimit& limit);
  ~AnswerStream();
  AnswerStream(const AnswerStream&) = delete;

  // Returns the answers since the last call. If there are none and `wait` is true, waits for some;
  // then an empty result means that no more come. Throws what the policy throws.
  std::vector<Answer> next(bool wait);
  // Drops further answers to the question.
  void close(size_t question);
  // Returns how many answers to the question were not waited for, once no more come.
  int left_out(size_t question) const;

 private:
  using Clock = std::chrono::steady_clock;
  // Answers of about the same length: those to one question, or all answers if each question wants
  // one.
  struct Group {
    int times;               // the second half may take this many times as long as the first
    int come = 0, open = 0;  // answers that came; answers yet to come to open questions
    Clock::time_point runaways_after = Clock::time_point::max();  // once half have come
  };
  struct State {
    Question question;
    size_t group;
    int come = 0, left_out = 0;
    bool closed = false;
  };
  void ask(size_t question);
  void take(size_t question, Proposal proposal);
  bool is_wanted(size_t question) const;
  void close(State& state);
  void note_half(Group& group) const;

  Policy& policy_;
  const DeviceProfile& profile_;
  const SearchLimit limit_;
  const Clock::time_point begin_ = Clock::now();
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Group> groups_;
  std::vector<State> states_;
  std::vector<Answer> waiting_;
  size_t asking_ = 0;  // threads
  bool ending_ = false;
  std::exception_ptr fault_;
  std::vector<std::thread> threads_;
};

}  // namespace kw
