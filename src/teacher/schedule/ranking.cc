#include "teacher/schedule/ranking.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "teacher/schedule/schedule.h"

namespace kw::teacher {
namespace {

// "flat", "persistent", "BLOCK_M=128 BLOCK_N=128": schedules that differ in this differ in kind.
std::string kind(const Choice& choice) {
  if (choice.family == "matmul") return choice.tiling.substr(0, choice.tiling.find(" BLOCK_K"));
  return choice.tiling.substr(0, choice.tiling.find(','));
}

// Estimates within a few percent are equal: among them the fewer programs win, which is also best
// for an interpreter. The best of each kind that may well win comes before variations of the first,
// because the model is rough and each proposal costs a measurement.
void rank_by_estimate(std::vector<Choice>& choices) {
  auto bucket = [](const Choice& c) { return std::llround(std::log(c.seconds) / std::log(1.04)); };
  std::stable_sort(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
    const auto ka = bucket(a), kb = bucket(b);
    return ka != kb ? ka < kb : a.programs < b.programs;
  });
  std::set<std::string> kinds;
  std::vector<Choice> first, rest;
  for (Choice& choice : choices) {
    const bool leads =
        (choice.seconds < 1.5 * choices.front().seconds && kinds.insert(kind(choice)).second) ||
        (!choice.precision.empty() && kinds.insert(choice.precision).second);
    (leads ? first : rest).push_back(choice);
  }
  choices = std::move(first);
  choices.insert(choices.end(), rest.begin(), rest.end());
}

// PyTorch's library may have computed this convolution in TF32 or exactly, and TF32 is wrong in the
// second case. So the best of the exact choices comes next.
void exact_second(std::vector<Choice>& choices) {
  if (choices.empty() || choices[0].precision != "tf32") return;
  const auto exact = std::find_if(choices.begin(), choices.end(),
                                  [](const Choice& c) { return c.precision != "tf32"; });
  if (exact != choices.end()) std::rotate(choices.begin() + 1, exact, exact + 1);
}

using Named = std::pair<std::string, FastSchedule>;  // family, schedule

// Of all families that have a choice, best first.
std::vector<Named> fastest(const std::vector<Choice>& choices, const Knowledge& known,
                           const DeviceProfile& profile) {
  const bool measured = known.table.serves(profile);
  std::vector<Named> own, shipped;
  std::set<std::string> families;
  for (const Choice& choice : choices) {
    const std::string &family = choice.family, &shape = choice.shape_class;
    if (!families.insert(family).second) continue;  // all of a family are of one class
    if (known.memory) {
      for (const FastSchedule& fast : known.memory->fastest(family, shape)) {
        own.emplace_back(family, fast);
      }
    }
    if (!measured) continue;
    for (const FastSchedule& fast : known.table.fastest(family, shape)) {
      shipped.emplace_back(family, fast);
    }
  }
  for (auto* list : {&own, &shipped}) {
    std::stable_sort(list->begin(), list->end(), [](const Named& a, const Named& b) {
      return a.second.ratio < b.second.ratio;
    });
  }
  own.insert(own.end(), shipped.begin(), shipped.end());
  return own;
}

}  // namespace

void rank(std::vector<Choice>& choices, const Knowledge& known, const DeviceProfile& profile) {
  const bool measured = known.table.serves(profile);
  for (Choice& choice : choices) {
    choice.model_seconds = choice.seconds;
    if (measured) choice.seconds *= known.table.correction(choice, profile);
  }
  rank_by_estimate(choices);
  auto place = choices.begin();
  for (const auto& [family, fast] : fastest(choices, known, profile)) {
    const auto found = std::find_if(place, choices.end(), [&](const Choice& choice) {
      return choice.family == family && schedule_name(choice) == fast.name;
    });
    if (found != choices.end()) std::rotate(place++, found, found + 1);
  }
  exact_second(choices);
}

void explore(std::vector<Choice>& choices, int count, double share, uint64_t seed) {
  constexpr double kHopeless = 10;  // times the first one's estimate
  const auto drawn = static_cast<size_t>(std::lround(share * count));
  const size_t kept = static_cast<size_t>(count) - drawn;
  if (drawn == 0 || choices.size() <= kept) return;
  const double limit = kHopeless * choices.front().seconds;
  std::vector<Choice> rest(choices.begin() + static_cast<long>(kept), choices.end());
  choices.resize(kept);
  std::erase_if(rest, [&](const Choice& choice) { return choice.seconds > limit; });
  std::mt19937_64 random(seed);
  std::shuffle(rest.begin(), rest.end(), random);
  choices.insert(choices.end(), rest.begin(), rest.end());
}

}  // namespace kw::teacher
