// The interface through which a search has fragments evaluated.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "program/rewrite/transform.h"
#include "search/evaluate/attempt.h"

namespace kw {

// When a search ends: at a point in time, or when a signal handler sets a flag.
struct SearchLimit {
  std::chrono::steady_clock::time_point end;
  const std::atomic<bool>& stop;
  bool over() const { return stop || std::chrono::steady_clock::now() > end; }
};

// How much is done for a fragment.
struct Effort {
  int proposals = 1;
  bool any_right = false;  // the first right proposal is taken, without being timed
  uint64_t seed = 0;       // of the proposals
  // A policy that draws its answers is asked about the fragment itself, not the question of it
  // (question.h).
  bool as_it_is = false;
};

struct EvaluationRequest {
  Fragment fragment;
  double model_seconds = 0;  // PyTorch's modelled time for the fragment, used if none is measured
  Effort effort;
  std::optional<Attempt> known;  // a right attempt, which is timed together with the proposals
};

struct EvaluationResult {
  std::optional<Task> best;  // the fastest proposal that was accepted, built
  size_t best_attempt = 0;   // index into `attempts`
  double eager_seconds = 0;  // of the steps themselves
  double seconds = 0;        // of `best`; the policy's estimate if it is not timed
  std::vector<Attempt> attempts;
  bool cut_short = false;  // the limit came before some attempts were judged
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Returns results in the order of the requests. With measured times every proposal is timed; with
  // modelled times the policy's best guesses are judged until one passes. Attempts that the limit
  // kept from being judged say so in their reason.
  virtual std::vector<EvaluationResult> evaluate(const std::vector<EvaluationRequest>& requests,
                                                 const SearchLimit& limit) = 0;
  virtual bool measures() const = 0;
  // Returns how many of the host's threads this search may keep busy.
  virtual int threads() const = 0;
};

}  // namespace kw
