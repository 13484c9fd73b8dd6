// Whether pairs are right: each answer goes before the judge that reinforcement learning has. What
// a model learns from is so verified like what it will write.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/data/pairs.h"
#include "train/judge/judge.h"

namespace kw {

// What a pair is an example of: its operators and, of each part, family and kind of tiling, numbers
// apart: "Conv2d, ReLU | convolution tf#x# taps BLOCK_M=# ...".
std::string cell_of(const Pair& pair);

struct PairVerdicts {
  int64_t right = 0, wrong = 0, not_judged = 0;
  int64_t unfair = 0;   // pairs of programs that nothing can be judged with (hygiene.h)
  int64_t skipped = 0;  // of cells that had enough
  std::map<std::string, int64_t> why_not;                    // judged
  std::map<std::string, std::pair<int64_t, int64_t>> cells;  // right, judged
  std::vector<Json> failures;  // operators, level, stage, reason, plan and code of each wrong one
};
Json to_json(const PairVerdicts& verdicts);  // numbers and failures; cells are counted

// Borrows all of it. One thread.
class PairCheck {
 public:
  using IsFair = std::function<bool(const Task&)>;
  // most_of_cell: pairs of a cell that are judged, over all calls; 0: all.
  PairCheck(Judge& judge, IsFair is_fair, int64_t most_of_cell)
      : judge_(judge), is_fair_(std::move(is_fair)), most_of_cell_(most_of_cell) {}
  // `seed` is that of inputs. EnvironmentError where the machine is at fault.
  void check(const std::vector<Pair>& pairs, uint64_t seed);
  const PairVerdicts& verdicts() const { return verdicts_; }

 private:
  Judge& judge_;
  IsFair is_fair_;
  int64_t most_of_cell_;
  std::map<std::string, int64_t> taken_;  // of cells
  PairVerdicts verdicts_;
};

}  // namespace kw
