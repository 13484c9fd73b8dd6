#include "train/rl_tasks.h"

#include <algorithm>

#include "formats/error.h"
#include "policy/prompt.h"
#include "synth/random.h"

namespace kw {
namespace {

constexpr uint64_t kFairStream = 104;     // of numbers that a program is examined by
constexpr int64_t kMostPassedOver = 500;  // in a row

}  // namespace

RlTaskSource::RlTaskSource(ProgramOptions programs, RlTaskOptions options,
                           const AnswerFormat& format, WorkerPool& pool,
                           const DeviceProfile& profile, IsFair is_fair)
    : programs_(std::move(programs)),
      options_(options),
      format_(format),
      pool_(pool),
      profile_(profile),
      is_fair_(std::move(is_fair)) {}

RlTaskCounts RlTaskSource::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool RlTaskSource::take(DrawnProgram& drawn, std::vector<RlTask>& out) {
  ++counts_.programs;
  counts_.unrecorded += !drawn.task;
  if (!drawn.task) return false;
  const uint64_t seed = Random(programs_.seed, drawn.index, kFairStream).bits();
  if (drawn.only_views || (is_fair_ && !is_fair_(*drawn.task, seed))) {
    ++counts_.unfair;
    return false;
  }
  const FirstNames first = first_names(programs_.seed, drawn.index, options_.most_names);
  RlTask made{drawn.index, drawn.level, std::make_shared<const Task>(std::move(*drawn.task)), {}};
  made.prompt = format_.prompt(task_text(*made.task, first.value));
  const bool fits = made.prompt.size() <= options_.longest_prompt;
  counts_.too_long += !fits;
  if (fits) out.push_back(std::move(made));
  return fits;
}

std::vector<RlTask> RlTaskSource::next(size_t count, uint64_t& place,
                                       const std::vector<double>& weights) {
  const std::lock_guard lock(mutex_);
  programs_.weights = weights;
  ProgramSource source(programs_, pool_, profile_);
  std::vector<RlTask> out;
  int64_t passed_over = 0;
  while (out.size() < count) {
    uint64_t begin = place, missing = count - out.size();
    if (options_.programs > 0) {  // up to the last of them
      begin %= options_.programs;
      missing = std::min(missing, options_.programs - begin);
    }
    place += missing;
    std::vector<DrawnProgram> drawn = source.draw(begin, begin + missing);
    source.record(drawn);
    for (DrawnProgram& each : drawn) passed_over = take(each, out) ? 0 : passed_over + 1;
    if (passed_over < kMostPassedOver) continue;
    throw InputError(std::to_string(passed_over) + " programs in a row are no tasks: of " +
                     std::to_string(counts_.programs) + ", " + std::to_string(counts_.unrecorded) +
                     " could not be recorded (" + source.first_fault() + "), " +
                     std::to_string(counts_.unfair) + " are not fair, " +
                     std::to_string(counts_.too_long) + " have prompts of more than " +
                     std::to_string(options_.longest_prompt) + " tokens");
  }
  return out;
}

}  // namespace kw
