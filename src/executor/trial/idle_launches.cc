#include "executor/trial/idle_launches.h"

#include <algorithm>

#include "executor/compare/errors.h"

namespace kw {
namespace {

// Relative RMS distance that no order of additions explains.
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

bool IdleLaunches::are_all() {
  ReplayOptions options;
  options.skip_all_launches = true;
  return !matters(options);
}

// It matters where one output says so: the one that comes from least is asked first, and all of
// them where that says no.
bool IdleLaunches::is(int step) {
  ReplayOptions options;
  options.skip_launch = step;
  for (Part& part : parts_) {
    if (!part.lineage.steps[step] || !is_whole(part)) continue;
    options.part = &part.lineage;
    if (matters(options, part.output)) return false;
    options.part = nullptr;
    break;
  }
  return !matters(options);
}

// Kernels may do more than their declared reads and writes: a part is asked only where, with all of
// its launches, it gives the very answer.
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

// Whether it changes the answer, or one output, to leave out the launches that `options` say. What
// they would have written may be anything: when two numbers in its place make no difference,
// neither do they. One may be what the launch writes there.
bool IdleLaunches::matters(ReplayOptions options, std::optional<size_t> output) {
  int same = 0, other = 0;
  for (double unwritten : {0.0, 1.0, 2.0}) {
    options.unwritten = unwritten;
    ++(changes_without(options, output) ? other : same);
    if (same == 2 || other == 2) break;
  }
  return other >= 2;
}

// Whether an answer given without some launches differs by more than two answers given with them.
bool IdleLaunches::changes_without(const ReplayOptions& options, std::optional<size_t> output) {
  std::vector<double> apart(answer_.size(), 0.0);
  try {
    call_(options, [&](const Has& got) {
      for (size_t i = 0; i < apart.size(); ++i) {
        if (output.value_or(i) == i) apart[i] = distance(got[i], answer_[i]);
        if (apart[i] > kBeyondNoise) break;  // the rest says nothing more
      }
    });
  } catch (const ReplayError&) {
    backend_.check_alive();
    return true;  // an operator that refuses what the launch should have written
  }
  for (size_t i = 0; i < apart.size(); ++i) {
    if (apart[i] > kBeyondNoise || (apart[i] > 0 && apart[i] > 10 * noise()[i])) return true;
  }
  return false;
}

// How far two answers given with all launches are apart, by output.
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

}  // namespace kw
