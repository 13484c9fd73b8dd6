// Checks that pairs are right: each answer is judged as in reinforcement learning. So the answers
// that a model learns from are verified like those that it will write.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/data/pairs.h"
#include "train/judge/judge.h"

namespace kw::train {

// Returns the cell that a pair is an example of. It has the operators, and the family and kind of
// tiling of each part, without numbers, such as "Conv2d, ReLU | convolution tf#x# taps BLOCK_M=#
// ...".
std::string cell_of(const Pair& pair);

struct PairVerdicts {
  int64_t right = 0, wrong = 0, not_judged = 0;
  int64_t unfair = 0;                      // pairs of programs that are no fair tasks (hygiene.h)
  int64_t skipped = 0;                     // pairs of cells that had enough
  std::map<std::string, int64_t> why_not;  // reasons of the not judged
  std::map<std::string, std::pair<int64_t, int64_t>> cells;  // right, judged
  std::vector<Json> failures;  // operators, level, stage, reason, plan and code of each wrong one
};
Json to_json(const PairVerdicts& verdicts);  // numbers and failures; cells are counted

// Borrows all of it. One thread.
class PairCheck {
 public:
  using IsFair = std::function<bool(const Task&)>;
  // `most_of_cell` is the number of pairs of a cell that are judged over all calls; 0: all.
  PairCheck(Judge& judge, IsFair is_fair, int64_t most_of_cell)
      : judge_(judge), is_fair_(std::move(is_fair)), most_of_cell_(most_of_cell) {}
  // Judges pairs. `seed` is the inputs' seed. Throws EnvironmentError for a fault of the machine.
  void check(const std::vector<Pair>& pairs, uint64_t seed);
  const PairVerdicts& verdicts() const { return verdicts_; }

 private:
  Judge& judge_;
  IsFair is_fair_;
  int64_t most_of_cell_;
  std::map<std::string, int64_t> taken_;  // of cells
  PairVerdicts verdicts_;
};

}  // namespace kw::train
