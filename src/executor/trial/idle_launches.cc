#include "executor/trial/idle_launches.h"

#include <algorithm>
#include <iterator>

#include "executor/compare/errors.h"

namespace kw::exec {
namespace {

// A relative RMS distance that no order of additions explains.
constexpr double kBeyondNoise = 0.1;

}  // namespace

IdleLaunches::IdleLaunches(Backend& backend, const Task& candidate, Call call, Has answer)
    : backend_(backend), call_(std::move(call)), answer_(std::move(answer)) {
  const Program& program = candidate.forward;
  const auto lineage = [&](const std::vector<ValueId>& values) {
    return lineage_of(program, candidate.kernels, values);
  };
  const double whole = lineage(program.outputs).bytes;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    Part part{i, lineage({program.outputs[i]}), {}};
    if (part.lineage.bytes < whole / 2) parts_.push_back(std::move(part));
  }
  std::ranges::stable_sort(parts_, {}, [](const Part& part) { return part.lineage.bytes; });
}

bool IdleLaunches::are_all() { return !matters({.all_launches = true}); }

std::vector<int> IdleLaunches::among(const std::vector<int>& steps) {
  std::vector<int> tried, rest, idle;  // those tried first are spread over the program
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool first = steps.size() <= kTried || i * kTried % steps.size() < kTried;
    (first ? tried : rest).push_back(steps[i]);
  }
  std::ranges::copy_if(tried, std::back_inserter(idle), [&](int step) { return is_idle(step); });
  if (idle.size() == tried.size()) {
    const auto one = std::ranges::find_if_not(rest, [&](int step) { return is_idle(step); });
    idle.insert(idle.end(), rest.begin(), one);
  }
  std::ranges::sort(idle);
  return idle;
}

// A launch matters if it changes one output. The smallest part that has the launch is tried first,
// and all outputs if that part shows no change.
bool IdleLaunches::is_idle(int step) {
  const auto part = std::ranges::find_if(
      parts_, [&](Part& part) { return part.lineage.steps[step] && is_whole(part); });
  if (part != parts_.end() && matters({.launch = step, .part = &part->lineage}, part->output))
    return false;
  return !matters({.launch = step});
}

// Kernels may do more than their declared reads and writes. So a part is used only if it gives the
// very answer with all of its launches.
bool IdleLaunches::is_whole(Part& part) {
  if (part.is_whole) return *part.is_whole;
  try {
    call_({.part = &part.lineage}, [&](const Has& got) {
      part.is_whole = distance(got[part.output], answer_[part.output]) == 0;
    });
  } catch (const ReplayError&) {
    backend_.check_alive();
    part.is_whole = false;
  }
  return *part.is_whole;
}

// Returns whether leaving out launches changes the answer, or one output. Memory that they would
// have written holds one of three numbers. A launch does not matter if two of them make no
// difference, because one number may happen to be what the launch writes there.
bool IdleLaunches::matters(Ablation ablation, std::optional<size_t> output) {
  int same = 0, other = 0;
  for (double unwritten : {0.0, 1.0, 2.0}) {
    ablation.unwritten = unwritten;
    ++(changes_without(ablation, output) ? other : same);
    if (same == 2 || other == 2) break;
  }
  return other >= 2;
}

// Returns whether an answer without some launches differs from answer_ by more than two answers
// with all launches differ from each other.
bool IdleLaunches::changes_without(const Ablation& ablation, std::optional<size_t> output) {
  std::vector<double> apart(answer_.size(), 0.0);
  try {
    call_(ablation, [&](const Has& got) {
      for (size_t i = 0; i < apart.size(); ++i) {
        if (output.value_or(i) == i) apart[i] = distance(got[i], answer_[i]);
        if (apart[i] > kBeyondNoise) break;  // one changed output decides
      }
    });
  } catch (const ReplayError&) {
    backend_.check_alive();
    return true;  // an operator refuses what the launch should have written
  }
  for (size_t i = 0; i < apart.size(); ++i) {
    if (apart[i] > kBeyondNoise || (apart[i] > 0 && apart[i] > 10 * noise()[i])) return true;
  }
  return false;
}

// Returns for each output how far two answers with all launches are apart.
const std::vector<double>& IdleLaunches::noise() {
  if (noise_) return *noise_;
  std::vector<double> apart(answer_.size(), 0.0);
  if (!backend_.deterministic()) {
    call_({}, [&](const Has& got) {
      for (size_t i = 0; i < got.size(); ++i) apart[i] = distance(got[i], answer_[i]);
    });
  }
  return noise_.emplace(std::move(apart));
}

}  // namespace kw::exec
