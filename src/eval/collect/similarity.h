// The similarity of programs' texts, by the runs of tokens that they share. Pure functions; any
// thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kw {

// Returns hashes of all runs of `length` tokens (names, numbers and marks, without comments and
// layout). With `any_names`, numbered names (t17, k3, a0) count by the order of their first use
// alone. A text shorter than a run is one run.
std::unordered_set<uint64_t> token_runs(std::string_view text, size_t length, bool any_names);

// Returns Jaccard's index: the runs of both sets, divided by the runs of either. 1 for two empty
// sets.
double jaccard(const std::unordered_set<uint64_t>& a, const std::unordered_set<uint64_t>& b);

// Texts that others must not be like. A run that a tenth of these texts have, and at least two, is
// common and tells nothing.
class KnownTexts {
 public:
  static constexpr size_t kRun = 13;  // tokens, as Brown et al. 2020 (arXiv:2005.14165) have it
  void add(std::string_view text);
  // Returns the share of a text's runs that is known, without common ones; 0 if it has no others.
  double share_known(std::string_view text) const;

 private:
  bool is_common(int texts) const { return texts >= 2 && 10 * texts >= count_; }
  std::unordered_map<uint64_t, int> texts_of_;  // how many have the run
  int count_ = 0;
};

}  // namespace kw
