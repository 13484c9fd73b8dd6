#include "executor/trial/timing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "executor/aten/phases.h"
#include "executor/aten/recurrent.h"
#include "executor/compare/errors.h"
#include "runtime/median.h"

namespace kw::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmups = 3;  // of a package; a task has run before, in trials or in a checked run
constexpr int kFewestRounds = 4;
// If the times decide the number of rounds, wall time and clock are read once in this many rounds.
constexpr int kSeldom = 16;
// In milliseconds. Runs longer than this have a wall time that is near enough to their device time,
// and what a first run waits for is little compared with it. For requests of few rounds.
constexpr double kLongRun = 1;
// The same for requests of many rounds: waiting is no part of such a run that counts.
constexpr double kVeryLongRun = 100;
// A round in which the processors ran slower than this share of their usual pace says nothing.
constexpr double kThrottled = 0.95;
// The relative RMS distance that the order of atomic additions may cause, in units of the last
// place.
constexpr double kAtomicsUlps = 32;
// The relative RMS distance that another compiler's code may cause, which may round and reassociate
// (TF32 included).
constexpr double kPackageDistance = 1e-2;

// Something to time: a task, or a package of task 0 fed with its inputs.
class Contestant {
 public:
  Contestant(LoadedTask& task, Package package, const std::vector<std::vector<at::Tensor>>& sets,
             uint64_t seed)
      : task_(task), package_(std::move(package)), seed_(derive_seed(seed, Purpose::kForward)) {
    std::vector<at::Tensor> fixed = task.draw_state(seed);
    const auto derived = task.draw_derived(fixed, {});
    fixed.insert(fixed.end(), derived.begin(), derived.end());
    flatten_recurrent_weights(task.task().forward, fixed);
    const auto& mutated = task.forward().mutated_inputs();
    for (const std::vector<at::Tensor>& set : sets) {
      std::vector<at::Tensor> all = fixed;
      all.insert(all.end(), set.begin(), set.end());
      std::vector<std::pair<at::Tensor, at::Tensor>> kept;
      for (size_t i = 0; i < std::min(all.size(), mutated.size()); ++i) {
        if (!mutated[i]) continue;
        if (i >= fixed.size()) all[i] = all[i].clone();  // the set is for everyone
        kept.emplace_back(all[i], all[i].clone());
      }
      inputs_.push_back(std::move(all));
      kept_.push_back(std::move(kept));
    }
  }

  // Restores inputs that a run overwrites and seeds the generators. It is not timed.
  void reset(int set) {
    for (auto& [live, kept] : kept_[set]) live.copy_(kept);
    seed_generators(seed_);
  }
  std::vector<at::Tensor> run(int set, const ReplayOptions& options) {
    if (package_) return package_(inputs_[set]);
    return task_.forward().run(inputs_[set], options);
  }
  void warm_up() {
    if (!package_ && !task_.forward().laid_out()) {
      reset(0);
      run(0, {});
    }
    for (int i = 0; package_ && i < kWarmups; ++i) {
      reset(0);
      run(0, ReplayOptions::timed());
    }
  }
  // Returns whether the outputs of the last timed run are those of an untimed one with poisoned
  // buffers.
  bool check() {
    reset(last_set);
    const std::vector<at::Tensor> expected =
        task_.forward().run(inputs_[last_set], ReplayOptions(Unwritten::kPoison));
    if (expected.size() != last_outputs.size()) return false;
    for (size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor &got = last_outputs[i], &want = expected[i];
      if (got.scalar_type() != want.scalar_type() || got.sizes() != want.sizes()) return false;
      if (bit_equal(got, want)) continue;  // the usual case, and cheaper than a distance
      const double limit =
          package_ ? kPackageDistance : kAtomicsUlps * dtype_eps(dtype_of(want.scalar_type()));
      if (distance(got, want) > limit) return false;
    }
    return true;
  }

  // Returns the same. With `once`, a task is checked until it has passed once, which is enough for
  // a reference that is timed together with candidate after candidate.
  bool checked(bool once) {
    if (package_ || !once) return check();
    return task_.times_checked = task_.times_checked || check();
  }

  std::vector<double> device_ms, wall_ms;
  std::vector<at::Tensor> last_outputs;
  int last_set = 0;

 private:
  LoadedTask& task_;
  Package package_;
  uint64_t seed_;
  std::vector<std::vector<at::Tensor>> inputs_;  // by set
  std::vector<std::vector<std::pair<at::Tensor, at::Tensor>>> kept_;
};

std::vector<std::vector<at::Tensor>> draw_sets(LoadedTask& task, const TimeRequest& request) {
  std::vector<std::vector<at::Tensor>> sets;
  for (int i = 0; i < request.input_sets; ++i) {
    const uint64_t seed = request.seed + static_cast<uint64_t>(i);
    sets.push_back(task.draw_inputs(task.draw_state(request.seed), seed));
  }
  return sets;
}

// Returns the width of a distribution-free 95 % interval of the median of `values`, relative to the
// median. The interval is between the order statistics whose ranks a fair coin would leave outside
// in at most 5 % of cases (Conover, Practical Nonparametric Statistics, section 3.2). Few values
// have the interval of few_stretch().
double relative_width(std::vector<double> values) {
  const size_t n = values.size();
  if (n < kFewestRounds) return std::numeric_limits<double>::infinity();
  if (n < kFewRounds) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return (1 + 2 * few_stretch(n)) * (*most - *least) / median(values);
  }
  double outside = std::pow(0.5, n), term = outside;  // P(fewer than `rank` of n below the median)
  size_t rank = 0;
  while (2 * outside <= 0.05) {
    ++rank;
    term *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
    outside += term;
  }
  std::sort(values.begin(), values.end());
  return (values[n - rank] - values[rank - 1]) / values[n / 2];
}

// Returns whether the ratios of the first one's times to every other's are known well enough.
bool known(const std::vector<std::unique_ptr<Contestant>>& contestants, double width) {
  const std::vector<double>& base = contestants[0]->device_ms;
  for (const auto& contestant : contestants) {
    if (contestant == contestants[0]) continue;
    std::vector<double> ratios;
    for (size_t i = 0; i < base.size(); ++i) ratios.push_back(base[i] / contestant->device_ms[i]);
    if (!(relative_width(ratios) <= width)) return false;
  }
  return true;
}

void keep_only(std::vector<double>& values, const std::vector<bool>& keep) {
  if (values.size() != keep.size()) return;
  size_t kept = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (keep[i]) values[kept++] = values[i];
  }
  values.resize(kept);
}

// Leaves out the rounds after which the processors were slow, when the clock was read in all of
// them and enough are left. Returns how many those were.
int leave_out_throttled(const std::vector<double>& mhz,
                        const std::vector<std::unique_ptr<Contestant>>& contestants) {
  if (mhz.size() != contestants[0]->device_ms.size()) return 0;
  const double usual = median(mhz);
  std::vector<bool> keep;
  for (double pace : mhz) keep.push_back(pace >= kThrottled * usual);
  const auto kept = std::count(keep.begin(), keep.end(), true);
  if (kept < kFewestRounds) return 0;
  for (const auto& contestant : contestants) {
    keep_only(contestant->device_ms, keep);
    keep_only(contestant->wall_ms, keep);
  }
  return static_cast<int>(static_cast<long>(mhz.size()) - kept);
}

// Times one run of each, in `order`.
void time_round(const std::vector<std::unique_ptr<Contestant>>& contestants,
                const std::vector<size_t>& order, int set, RunClock& clock) {
  std::vector<TimedRun> runs;
  for (size_t i : order) {
    Contestant& contestant = *contestants[i];
    runs.push_back({[&contestant, set] {
                      contestant.last_outputs.clear();
                      contestant.reset(set);
                    },
                    [&contestant, set] {
                      contestant.last_outputs = contestant.run(set, ReplayOptions::timed());
                    }});
    contestant.last_set = set;
  }
  const std::vector<double> ms = clock.device_ms(runs);
  for (size_t k = 0; k < order.size(); ++k) contestants[order[k]]->device_ms.push_back(ms[k]);
}

void time_wall(Contestant& contestant, int set, RunClock& clock) {
  contestant.reset(set);
  contestant.wall_ms.push_back(clock.wall_ms([&] { contestant.run(set, ReplayOptions::timed()); }));
}

// Drops the first round's times if every run was short, because waiting for memory and workspaces
// may have taken longer than the run. Long runs are not repeated for that. Returns whether it
// dropped them.
bool forget_short_runs(const std::vector<std::unique_ptr<Contestant>>& contestants) {
  for (const auto& contestant : contestants) {
    if (contestant->device_ms.back() > kLongRun) return false;
  }
  for (const auto& contestant : contestants) {
    contestant->device_ms.clear();
    contestant->wall_ms.clear();
  }
  return true;
}

}  // namespace

TimeReport time_runs(Backend& backend, RunClock& clock, const TimeRequest& request,
                     const std::vector<LoadedTask*>& tasks, const std::vector<Package>& packages) {
  c10::InferenceMode inference;
  TimeReport report;
  Phases phases(backend, report.phases);
  if (tasks.empty()) throw ReplayError("nothing to time");
  const std::vector<std::vector<at::Tensor>> sets = draw_sets(*tasks[0], request);
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (LoadedTask* task : tasks) {
    const bool own = request.own_inputs && task != tasks[0];
    contestants.push_back(std::make_unique<Contestant>(
        *task, nullptr, own ? draw_sets(*task, request) : sets, request.seed));
  }
  for (const Package& package : packages) {
    contestants.push_back(std::make_unique<Contestant>(*tasks[0], package, sets, request.seed));
  }
  for (const auto& contestant : contestants) contestant->warm_up();
  phases.end("timing: inputs");

  bool warm = false;
  std::mt19937_64 random(request.seed);
  std::vector<size_t> order(contestants.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const double long_ms = request.width > 0 ? kLongRun : kVeryLongRun;
  const auto deadline = Clock::now() + std::chrono::duration<double>(request.max_seconds);
  for (int round = 0; round < request.rounds;) {
    if (round >= kFewestRounds && Clock::now() > deadline) break;
    std::shuffle(order.begin(), order.end(), random);
    const bool all = request.width == 0 || round % kSeldom == 0;
    const int set = round % request.input_sets;
    time_round(contestants, order, set, clock);
    for (size_t i : order) {
      const bool long_run = contestants[i]->device_ms.back() > long_ms;
      if (all && !long_run) time_wall(*contestants[i], set, clock);
    }
    if (!std::exchange(warm, true) && forget_short_runs(contestants)) continue;
    if (const double mhz = all ? clock.processor_mhz() : 0) report.processor_mhz.push_back(mhz);
    if (request.width > 0 && known(contestants, request.width)) break;
    ++round;
  }
  phases.end("timing: runs");
  report.throttled_rounds = leave_out_throttled(report.processor_mhz, contestants);
  for (const auto& contestant : contestants) {
    report.device_ms.push_back(contestant->device_ms);
    report.wall_ms.push_back(contestant->wall_ms);
    report.outputs_checked.push_back(contestant->checked(request.width > 0));
  }
  phases.end("timing: checks");
  report.status = ReplyStatus::kOk;
  return report;
}

std::vector<double> WallClock::device_ms(const std::vector<TimedRun>& runs) {
  std::vector<double> ms;
  for (const TimedRun& timed : runs) {
    timed.prepare();
    ms.push_back(wall_ms(timed.run));
  }
  return ms;
}

double WallClock::wall_ms(const std::function<void()>& run) {
  const Clock::time_point before = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - before).count();
}

}  // namespace kw::exec
