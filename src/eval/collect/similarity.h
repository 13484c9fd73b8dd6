// How alike texts of programs are: by runs of tokens that they share. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kw {

// Hashes of all runs of `length` tokens (names, numbers, marks; comments and layout are none). With
// `any_names`, names that a text numbers (t17, k3, a0) are told apart by the order of their first
// use alone. The whole text where it is shorter than a run.
std::unordered_set<uint64_t> token_runs(std::string_view text, size_t length, bool any_names);

// The share of the runs of both that both have: Jaccard's index. 1 of two empty sets.
double jaccard(const std::unordered_set<uint64_t>& a, const std::unordered_set<uint64_t>& b);

// Texts that others must not be like. Runs that a tenth of these texts have, and two at least, are
// what any such text has, and tell nothing.
class KnownTexts {
 public:
  static constexpr size_t kRun = 13;  // tokens, as Brown et al. 2020 (arXiv:2005.14165) have it
  void add(std::string_view text);
  // Of the runs of a text, the share that is known; 0 of a text with nothing but what tells
  // nothing.
  double share_known(std::string_view text) const;

 private:
  bool is_common(int texts) const { return texts >= 2 && 10 * texts >= count_; }
  std::unordered_map<uint64_t, int> texts_of_;  // how many have the run
  int count_ = 0;
};

}  // namespace kw
