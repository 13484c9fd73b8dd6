// Answers of a policy that draws them, to several tasks at once and as they come: for who wants one
// right answer to each, and no others from then on.
//
// Threads of its own ask; one thread takes. Runaways are not waited for: a model that repeats
// itself writes until it may write no more, many times as long as any answer that ends.
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

  // Borrows all but `questions`. Nothing is waited for beyond the limit.
  AnswerStream(Policy& policy, const DeviceProfile& profile, std::vector<Question> questions,
               const SearchLimit& limit);
  ~AnswerStream();
  AnswerStream(const AnswerStream&) = delete;

  // What has come since it was last called; where that is nothing, and `wait`, waits for some.
  // Nothing then: no more come. Throws what the policy does.
  std::vector<Answer> next(bool wait);
  // No more answers to it are wanted.
  void close(size_t question);
  // Answers to it that were not waited for, once no more come.
  int left_out(size_t question) const;

 private:
  using Clock = std::chrono::steady_clock;
  // Answers that are about as long as each other: those to one question, or all where of each
  // question there is one.
  struct Group {
    int times;               // as long as half of them took the others may take
    int come = 0, open = 0;  // drawn; yet to come to questions that are not closed
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
  mutable std::mutex mutex_;  // of what follows
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
