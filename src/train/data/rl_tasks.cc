#include "train/data/rl_tasks.h"

#include <algorithm>

#include "formats/base/error.h"
#include "policy/chat/prompt.h"
#include "synth/skeleton/random.h"
#include "train/step/streams.h"

namespace kw::train {
namespace {

constexpr int64_t kMostPassedOver = 500;  // programs skipped in a row

}  // namespace

RlTaskSource::RlTaskSource(ProgramOptions programs, RlTaskOptions options,
                           const AnswerFormat& format, WorkThread& thread, WorkerPool& pool,
                           const DeviceProfile& profile, IsFair is_fair,
                           const std::atomic<bool>& stop)
    : programs_(std::move(programs)),
      options_(options),
      format_(format),
      thread_(thread),
      pool_(pool),
      profile_(profile),
      is_fair_(std::move(is_fair)),
      stop_(stop) {}

RlTaskSource::~RlTaskSource() {
  thread_.begin([] {}).wait();
}

std::future<RlTaskSource::Found> RlTaskSource::begin(size_t count, uint64_t place,
                                                     std::vector<double> weights) {
  return thread_.begin(
      [this, count, place, own = std::move(weights)] { return find(count, place, own); });
}

bool RlTaskSource::take(DrawnProgram& drawn, Found& out) const {
  ++out.counts.programs;
  out.counts.unrecorded += !drawn.task;
  if (!drawn.task) return false;
  const uint64_t seed = Random(programs_.seed, drawn.index, kFairStream).bits();
  if (drawn.only_views || (is_fair_ && !is_fair_(*drawn.task, seed))) {
    ++out.counts.unfair;
    return false;
  }
  const int first = first_name(programs_.seed, drawn.index);
  RlTask made{drawn.index, drawn.level, std::make_shared<const Task>(std::move(*drawn.task)), {}};
  made.prompt = format_.prompt(task_text(*made.task, first));
  const bool fits = made.prompt.size() <= options_.longest_prompt;
  out.counts.too_long += !fits;
  if (fits) out.tasks.push_back(std::move(made));
  return fits;
}

RlTaskSource::Found RlTaskSource::find(size_t count, uint64_t place,
                                       const std::vector<double>& weights) {
  programs_.weights = weights;
  ProgramSource source(programs_, pool_, profile_);
  Found out{.place = place};
  int64_t passed_over = 0;
  while (out.tasks.size() < count && !stop_) {
    uint64_t begin = out.place, missing = count - out.tasks.size();
    if (options_.programs > 0) {  // the part up to the last of them
      begin %= options_.programs;
      missing = std::min(missing, options_.programs - begin);
    }
    out.place += missing;
    std::vector<DrawnProgram> drawn = source.draw(begin, begin + missing);
    source.record(drawn);
    for (DrawnProgram& each : drawn) {
      if (stop_) return out;
      passed_over = take(each, out) ? 0 : passed_over + 1;
    }
    if (passed_over < kMostPassedOver) continue;
    const RlTaskCounts& all = out.counts;
    throw InputError(std::to_string(passed_over) + " programs in a row are no tasks: of " +
                     std::to_string(all.programs) + ", " + std::to_string(all.unrecorded) +
                     " could not be recorded (" + source.first_fault() + "), " +
                     std::to_string(all.unfair) + " are not fair, " + std::to_string(all.too_long) +
                     " have prompts of more than " + std::to_string(options_.longest_prompt) +
                     " tokens");
  }
  return out;
}

}  // namespace kw::train
