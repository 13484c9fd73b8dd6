#include "train/rl/curriculum.h"

#include "formats/base/error.h"
#include "verify/verdict/intervals.h"

namespace kw::train {

double lower_bound_of(const HeldOut& found) {
  if (found.judged == 0) return 0;
  return wilson(static_cast<double>(found.correct), static_cast<double>(found.judged)).lower;
}

Curriculum::Curriculum(CurriculumOptions options) : options_(std::move(options)) {
  if (options_.levels.empty()) throw InputError("a curriculum of no level");
  if (!options_.one_by_one) place_ = options_.levels.size() - 1;
}

std::vector<double> Curriculum::weights() const {
  std::vector<double> out(options_.levels.size(), 0);
  if (!options_.one_by_one) {
    out.assign(out.size(), 1);
  } else if (place_ == 0) {
    out[0] = 1;
  } else {
    out[place_] = 1 - options_.earlier_share;
    for (size_t i = 0; i < place_; ++i) {
      out[i] = options_.earlier_share / static_cast<double>(place_);
    }
  }
  return out;
}

Curriculum::Step Curriculum::take(const HeldOut& found) {
  const double bound = lower_bound_of(found);
  if (bound > options_.promote_at && place_ + 1 < options_.levels.size()) {
    ++place_;
    best_ = -1;
    since_best_ = 0;
    return Step::kPromoted;
  }
  if (bound > best_) {
    best_ = bound;
    since_best_ = 0;
  } else {
    ++since_best_;
  }
  ended_ = options_.patience > 0 && since_best_ >= options_.patience;
  return ended_ ? Step::kEnds : Step::kStays;
}

Json Curriculum::state() const {
  return {{"level", level()}, {"best", best_}, {"since_best", since_best_}, {"ended", ended_}};
}

void Curriculum::restore(const Json& state) {
  const int level = state.at("level").get<int>();
  for (place_ = 0; place_ < options_.levels.size(); ++place_) {
    if (options_.levels[place_] != level) continue;
    best_ = state.at("best").get<double>();
    since_best_ = state.at("since_best").get<int64_t>();
    ended_ = state.at("ended").get<bool>();
    return;
  }
  throw InputError("a checkpoint of level " + std::to_string(level) +
                   ", which is none of the curriculum's");
}

}  // namespace kw::train
