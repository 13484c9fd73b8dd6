// Which level of difficulty a run is at: one after the other, each until enough of its held-out
// tasks are solved (DRTriton's curriculum). Earlier levels keep a share of the tasks. Torch-free, a
// value; one thread.
#pragma once

#include <string>
#include <vector>

#include "formats/json.h"

namespace kw {

struct CurriculumOptions {
  std::vector<int> levels = {1};  // in order
  bool one_by_one = true;         // false: all of them from the start, each as likely
  double earlier_share = 0.25;    // of tasks, of earlier levels together
  double promote_at = 0.5;        // the lower bound of pass@1
  int64_t patience = 5;           // evaluations without a higher bound, and it ends; 0: never
};

// Answers to held-out tasks of a level, one to a task.
struct HeldOut {
  int64_t correct = 0, judged = 0;
};
// Of the share that is correct, Wilson's interval at 95 % (verify/verdict/intervals.h); 0 of no
// task.
double lower_bound_of(const HeldOut& found);

class Curriculum {
 public:
  explicit Curriculum(CurriculumOptions options);

  int level() const { return options_.levels[place_]; }  // that is evaluated
  // How likely each of the options' levels is.
  std::vector<double> weights() const;
  enum class Step { kStays, kPromoted, kEnds };
  // Takes what an evaluation at level() found. Ends where the bound has not risen for so long; on
  // the last level a bound beyond `promote_at` is only a bound.
  Step take(const HeldOut& found);
  bool ended() const { return ended_; }

  Json state() const;
  void restore(const Json& state);  // InputError where it is none of these levels'

 private:
  CurriculumOptions options_;
  size_t place_ = 0;
  double best_ = -1;        // bound so far at this level
  int64_t since_best_ = 0;  // evaluations
  bool ended_ = false;
};

}  // namespace kw
