#include "search/answer_stream.h"

#include <algorithm>
#include <utility>

namespace kw {
namespace {

// Once half of the answers are there the others get so many times as long, and a second at
// least. Kernels of one operator differ in length by less than that.
constexpr int kRunaway = 4;
constexpr std::chrono::seconds kLeast{1};

}  // namespace

AnswerStream::AnswerStream(Policy& policy, const DeviceProfile& profile,
                           std::vector<Question> questions, const SearchLimit& limit)
    : policy_(policy),
      profile_(profile),
      limit_(limit),
      asking_(questions.size()),
      runaways_after_(Clock::time_point::max()) {
  for (Question& question : questions) {
    open_ += question.count;
    states_.push_back({std::move(question)});
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
  ++state.come, ++come_;
  if (!state.closed) --open_;
  waiting_.push_back({question, std::move(proposal)});
  note_half();
  changed_.notify_all();
}

void AnswerStream::note_half() {
  if (runaways_after_ != Clock::time_point::max() || come_ < open_) return;
  runaways_after_ = begin_ + std::max<Clock::duration>(kRunaway * (Clock::now() - begin_), kLeast);
}

bool AnswerStream::is_wanted(size_t question) const {
  const std::lock_guard lock(mutex_);
  return !ending_ && !fault_ && !states_[question].closed && !limit_.over() &&
         Clock::now() < runaways_after_;
}

std::vector<AnswerStream::Answer> AnswerStream::next(bool wait) {
  std::unique_lock lock(mutex_);
  if (wait) changed_.wait(lock, [&] { return !waiting_.empty() || asking_ == 0; });
  if (fault_) std::rethrow_exception(fault_);
  return std::exchange(waiting_, {});
}

void AnswerStream::close(size_t question) {
  const std::lock_guard lock(mutex_);
  close(states_[question]);
}

void AnswerStream::close(State& state) {
  if (std::exchange(state.closed, true)) return;
  open_ -= state.question.count - state.come;
  note_half();
}

int AnswerStream::left_out(size_t question) const {
  const std::lock_guard lock(mutex_);
  return states_[question].left_out;
}

}  // namespace kw
