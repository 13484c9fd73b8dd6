#include "search/evaluate/answer_stream.h"

#include <algorithm>
#include <utility>

namespace kw {
namespace {

// Once half of the answers are there, the others may take this many times as long, and at least a
// second. Two answers to one question, or to questions of one operator each, differ by less.
constexpr int kOfOne = 4, kOfAll = 8;
constexpr std::chrono::seconds kLeast{1};

}  // namespace

AnswerStream::AnswerStream(Policy& policy, const DeviceProfile& profile,
                           std::vector<Question> questions, const SearchLimit& limit)
    : policy_(policy),
      profile_(profile),
      limit_(limit),
      groups_{{.times = kOfAll}},
      asking_(questions.size()) {
  for (Question& question : questions) {
    if (question.count > 1) groups_.push_back({.times = kOfOne});
    const size_t group = question.count > 1 ? groups_.size() - 1 : 0;
    groups_[group].open += question.count;
    states_.push_back({std::move(question), group});
  }
  for (size_t i = 0; i < states_.size(); ++i) threads_.emplace_back([this, i] { ask(i); });
}

AnswerStream::~AnswerStream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void AnswerStream::ask(size_t question) {
  const Question& its = states_[question].question;
  std::exception_ptr fault;
  try {
    policy_.propose_each(
        its.task, profile_, its.count, its.seed,
        std::min(limit_.end, Clock::now() + policy_.patience()),
        [&](Proposal proposal) { take(question, std::move(proposal)); },
        [&] { return is_wanted(question); });
  } catch (...) {
    fault = std::current_exception();
  }
  const bool was_wanted = is_wanted(question);
  const std::lock_guard lock(mutex_);
  State& state = states_[question];
  if (!was_wanted) state.left_out = its.count - state.come;
  close(state);
  if (fault && !fault_) fault_ = fault;
  --asking_;
  changed_.notify_all();
}

void AnswerStream::take(size_t question, Proposal proposal) {
  const std::lock_guard lock(mutex_);
  State& state = states_[question];
  Group& group = groups_[state.group];
  ++state.come;
  if (!state.closed) --group.open;
  // A refused or computed answer says nothing about the length of drawn ones.
  if (proposal.drawn && !proposal.unanswered) ++group.come;
  waiting_.push_back({question, std::move(proposal)});
  note_half(group);
  changed_.notify_all();
}

void AnswerStream::note_half(Group& group) const {
  if (group.come == 0 || group.come < group.open) return;
  if (group.runaways_after != Clock::time_point::max()) return;
  const auto patience = std::max<Clock::duration>(group.times * (Clock::now() - begin_), kLeast);
  group.runaways_after = begin_ + patience;
}

bool AnswerStream::is_wanted(size_t question) const {
  const std::lock_guard lock(mutex_);
  const State& state = states_[question];
  return !ending_ && !fault_ && !state.closed && !limit_.over() &&
         Clock::now() < groups_[state.group].runaways_after;
}

std::vector<AnswerStream::Answer> AnswerStream::next(bool wait) {
  std::unique_lock lock(mutex_);
  if (wait) changed_.wait(lock, [&] { return !waiting_.empty() || asking_ == 0 || fault_; });
  if (fault_) std::rethrow_exception(fault_);
  return std::exchange(waiting_, {});
}

void AnswerStream::close(size_t question) {
  const std::lock_guard lock(mutex_);
  close(states_[question]);
}

void AnswerStream::close(State& state) {
  if (std::exchange(state.closed, true)) return;
  Group& group = groups_[state.group];
  group.open -= state.question.count - state.come;
  note_half(group);
}

int AnswerStream::left_out(size_t question) const {
  const std::lock_guard lock(mutex_);
  return states_[question].left_out;
}

}  // namespace kw
