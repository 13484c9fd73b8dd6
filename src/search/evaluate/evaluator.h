// What a search asks of fragments, and what it is told.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "program/rewrite/transform.h"
#include "search/evaluate/attempt.h"

namespace kw {

// When to end: a point in time, or a flag that a signal handler sets.
struct SearchLimit {
  std::chrono::steady_clock::time_point end;
  const std::atomic<bool>& stop;
  bool over() const { return stop || std::chrono::steady_clock::now() > end; }
};

// What is done for a fragment.
struct Effort {
  int proposals = 1;
  // One that is right is all that is wanted: the first is taken, and not timed.
  bool any_right = false;
  uint64_t seed = 0;  // of the proposals
  // A policy that draws its answers is asked as question.h says, or about the fragment as it is.
  bool as_it_is = false;
};

struct Asked {
  Fragment fragment;
  double model_seconds = 0;  // PyTorch's time for it, where none is measured
  Effort effort;
  std::optional<Attempt> known;  // is right, and timed beside the proposals
};

struct Evaluated {
  std::optional<Task> best;  // the fastest proposal that was accepted, built
  size_t best_attempt = 0;   // index into `attempts`
  double eager_seconds = 0;  // of the steps themselves
  double seconds = 0;        // of `best`; the policy's own estimate where it is not timed
  std::vector<Attempt> attempts;
  bool cut_short = false;  // the limit kept some of them from being judged
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Results in the order of `asked`. With measured times every proposal is timed; with modelled
  // ones the policy's best guesses are judged until one passes. What `limit` keeps from being
  // judged says so.
  virtual std::vector<Evaluated> evaluate(const std::vector<Asked>& asked,
                                          const SearchLimit& limit) = 0;
  virtual bool measures() const = 0;
  // Of the host's, that this search may keep busy.
  virtual int threads() const = 0;
};

}  // namespace kw
