// The level of difficulty that a run is at. Levels follow each other; each lasts until enough of
// its held-out tasks are solved (DRTriton's curriculum). Earlier levels keep a share of the tasks.
// A value; torch-free; one thread.
#pragma once

#include <string>
#include <vector>

#include "formats/json.h"

namespace kw::train {

struct CurriculumOptions {
  std::vector<int> levels = {1};  // in order
  bool one_by_one = true;         // false: all from the start, equally likely
  double earlier_share = 0.25;    // the share of tasks of all earlier levels
  double promote_at = 0.5;        // the lower bound of pass@1
  int64_t patience = 5;           // it ends after so many without a higher bound; 0: never
};

// Answers to held-out tasks of a level, one to a task.
struct HeldOut {
  int64_t correct = 0, judged = 0;
};
// Returns the lower end of Wilson's 95 % interval (verify/verdict/intervals.h) of the share that is
// correct, or 0 if there is no task.
double lower_bound_of(const HeldOut& found);

class Curriculum {
 public:
  explicit Curriculum(CurriculumOptions options);

  int level() const { return options_.levels[place_]; }  // the one that is evaluated
  // Returns how likely each of the options' levels is.
  std::vector<double> weights() const;
  enum class Step { kStays, kPromoted, kEnds };
  // Takes the result of an evaluation at level(). The curriculum ends if the bound has not risen
  // for `patience` evaluations. On the last level a bound above `promote_at` promotes no further.
  Step take(const HeldOut& found);
  bool ended() const { return ended_; }

  Json state() const;
  void restore(const Json& state);  // throws InputError for a state of other levels

 private:
  CurriculumOptions options_;
  size_t place_ = 0;
  double best_ = -1;        // the highest bound so far at this level
  int64_t since_best_ = 0;  // evaluations since then
  bool ended_ = false;
};

}  // namespace kw::train
