#include "train/data/pairs.h"

#include <algorithm>
#include <chrono>

#include "formats/base/timed.h"
#include "teacher/teacher.h"

namespace kw::train {
namespace {

using Clock = std::chrono::steady_clock;

// A kernel that unrolls its windows can be several times as long as other answers to the program,
// for a small gain. So more schedules are looked at than are asked for, and those that are longer
// than the shortest by more than this factor are dropped.
constexpr int kWays = 3;
constexpr double kLongestShare = 1.5;

}  // namespace

PairSource::PairSource(PairOptions options, WorkerPool& pool, const DeviceProfile& profile)
    : options_(std::move(options)), profile_(profile), programs_(options_, pool, profile) {}

std::vector<Pair> PairSource::write(const DrawnProgram& drawn) const {
  std::vector<Pair> out;
  if (!drawn.task) return out;
  const int first = first_name(options_.seed, drawn.index);
  const auto teacher = make_teacher({.whole = true, .first_name = first});
  const auto proposals = teacher->propose(*drawn.task, profile_, kWays * options_.schedules, 0,
                                          Clock::time_point::max());
  const auto task = std::make_shared<const Task>(*drawn.task);
  size_t shortest = kLongestSource;
  for (const Proposal& proposal : proposals) {
    shortest = std::min(shortest, proposal.source.size());
  }
  for (const Proposal& proposal : proposals) {
    if (proposal.source.size() > kLongestShare * static_cast<double>(shortest)) continue;
    if (static_cast<int>(out.size()) == options_.schedules) break;
    Pair& pair = out.emplace_back();
    pair.index = drawn.index;
    pair.level = drawn.level;
    pair.schedule = static_cast<int>(out.size()) - 1;
    pair.operators = drawn.operators;
    pair.prompt = task_text(*drawn.task, first);
    pair.plan = proposal.plan;
    pair.code = proposal.source;
    pair.task = task;
  }
  return out;
}

std::vector<Pair> PairSource::make(uint64_t begin, uint64_t end) {
  auto start = Clock::now();
  std::vector<DrawnProgram> drawn = programs_.draw(begin, end);
  counts_.draw_seconds += seconds_since(start);
  start = Clock::now();
  programs_.record(drawn);
  counts_.unrecorded = programs_.unrecorded();
  counts_.record_seconds += seconds_since(start);
  start = Clock::now();
  std::vector<std::vector<Pair>> made(drawn.size());
  in_parallel(drawn.size(), programs_.options().threads,
              [&](size_t i) { made[i] = write(drawn[i]); });
  counts_.write_seconds += seconds_since(start);
  std::vector<Pair> out;
  for (size_t i = 0; i < drawn.size(); ++i) {
    ++counts_.programs;
    counts_.unwritten += drawn[i].task && made[i].empty();
    std::ranges::move(made[i], std::back_inserter(out));
  }
  counts_.pairs += static_cast<int64_t>(out.size());
  return out;
}

}  // namespace kw::train
