#include "train/data/program_source.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "formats/base/error.h"
#include "policy/chat/prompt.h"
#include "program/rewrite/transform.h"
#include "synth/draw/drawn_program.h"
#include "train/step/streams.h"

namespace kw::train {
namespace {

constexpr uint64_t kValidation = 0x76616c6964617465;  // any number but 0
constexpr size_t kTextsOfJob = 16;
constexpr std::chrono::milliseconds kDeadline{120'000};

// The number of skeletons that are tried for a level and a window, in parts that threads share. If
// none fits, they take 4 to 10 seconds of one core. A full-size program of 40 operators takes 6000
// of them on average, so that enough are found after a second.
constexpr int64_t kTriedSkeletons = 1'000'000;
constexpr size_t kParts = 4;
// The number of programs that is enough. With fewer, drawing one of the split would take minutes or
// be given up. Among programs of 40 operators one in eight is for training, and one in 150 for
// validation.
constexpr int kOfTraining = 4, kOfOthers = 48;

std::string power_text(double x) { return "2^" + std::to_string(std::lround(std::log2(x))); }

// Returns a description, for messages, of programs that cannot be found.
std::string description(const SynthOptions& options) {
  return "programs of " + std::to_string(options.level) +
         " operators (data.levels, data.operators) with " + power_text(options.limits.low_flops) +
         " to " + power_text(options.limits.high_flops) +
         " FLOPs (data.log_low, data.log_high) and tensors of at most " +
         power_text(options.limits.tensor) + " elements";
}

}  // namespace

SynthOptions synth_options(const ProgramOptions& options, int level, const DimsLimits& limits) {
  SynthOptions out;
  out.level = level;
  out.seed = options.seed;
  out.dtype = options.dtype;
  out.limits = limits;
  out.operators = options.operators;
  if (level > 1) out.split = options.split;
  return out;
}

void check_drawable(const ProgramOptions& options) {
  struct Tried {
    SynthOptions synth;
    int enough = 0;
    std::atomic<int> found{0};
    std::atomic<size_t> parts{0};
  };
  std::deque<Tried> all;
  for (const int level : std::set(options.levels.begin(), options.levels.end())) {
    for (const DimsLimits& limits : options.limits) {
      Tried& tried = all.emplace_back();
      tried.synth = synth_options(options, level, limits);
      const bool common = tried.synth.split.value_or(Split::kTrain) == Split::kTrain;
      tried.enough = common ? kOfTraining : kOfOthers;
      tried.synth.split.reset();  // else the split refuses most of them, whatever their sizes
    }
  }
  in_parallel(all.size() * kParts, threads_of(options.threads), [&](size_t i) {
    Tried& tried = all[i / kParts];
    const Synthesiser synthesiser(tried.synth);
    Random random = synthesiser.random(i % kParts);
    SynthCounts counts;
    constexpr int64_t kMost = kTriedSkeletons / kParts;
    while (tried.found < tried.enough && counts.skeletons < kMost) {
      const auto left = kMost - counts.skeletons;
      tried.found += synthesiser.find(i % kParts, 0, left, random, counts).has_value();
    }
    if (++tried.parts < kParts || tried.found >= tried.enough) return;
    throw InputError("there are no " + description(tried.synth) + ", or too few to be drawn: " +
                     std::to_string(tried.found) + " of " + std::to_string(kTriedSkeletons) +
                     " draws, and " + std::to_string(tried.enough) + " are needed");
  });
}

uint64_t validation_seed(uint64_t seed) { return seed ^ kValidation; }

int first_name(uint64_t seed, uint64_t index) {
  Random random(seed, index, kNameStream);
  return kLeastName + static_cast<int>(random.below(kNamesBelow - kLeastName));
}

void in_parallel(size_t count, int threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex;
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&] {
      try {
        for (size_t i = next++; i < count; i = next++) work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = std::current_exception();
        next = count;
      }
    });
  }
  running.clear();  // waits
  if (failed) std::rethrow_exception(failed);
}

ProgramSource::ProgramSource(ProgramOptions options, WorkerPool& pool, const DeviceProfile& profile)
    : options_(std::move(options)), pool_(pool), profile_(profile) {
  if (options_.levels.empty()) throw InputError("programs of no level were asked for");
  if (options_.limits.empty()) throw InputError("programs of no size were asked for");
  options_.threads = threads_of(options_.threads);
}

size_t ProgramSource::choose_level(uint64_t index) const {
  Random random(options_.seed, index, kLevelStream);
  if (options_.weights.empty()) return random.below(options_.levels.size());
  const double all = std::accumulate(options_.weights.begin(), options_.weights.end(), 0.0);
  double left = random.uniform() * all;
  size_t last = 0;  // so that rounding never gives a level without weight
  for (size_t i = 0; i < options_.weights.size(); ++i) {
    if (options_.weights[i] <= 0) continue;
    last = i;
    left -= options_.weights[i];
    if (left < 0) return i;
  }
  return last;
}

std::vector<DrawnProgram> ProgramSource::draw(uint64_t begin, uint64_t end) const {
  std::vector<Synthesiser> synthesisers;
  for (const int level : options_.levels) {
    for (const DimsLimits& limits : options_.limits) {
      synthesisers.emplace_back(synth_options(options_, level, limits));
    }
  }
  std::vector<DrawnProgram> out(end - begin);
  in_parallel(out.size(), options_.threads, [&](size_t i) {
    const uint64_t index = begin + i;
    const size_t level = choose_level(index), windows = options_.limits.size();
    const Synthesiser& synthesiser =
        synthesisers[level * windows + Random(options_.seed, index, kWindowStream).below(windows)];
    Random random = synthesiser.random(index);
    SynthCounts counts;
    const SynthProgram program = synthesiser.draw(index, 0, random, counts);
    DrawnProgram& drawn = out[i];
    drawn.index = index;
    drawn.level = options_.levels[level];
    drawn.text = model_text(program);
    drawn.only_views = only_views(program.skeleton);
    for (const SynthStep& step : program.skeleton) {
      drawn.operators += (drawn.operators.empty() ? "" : ", ") + std::string(step.op->name);
    }
  });
  return out;
}

void ProgramSource::record(std::vector<DrawnProgram>& drawn) {
  std::vector<RecordRequest> requests;
  for (const DrawnProgram& each : drawn) {
    RecordRequest& request = requests.emplace_back();
    request.file = "program" + std::to_string(each.index) + ".py";
    request.text = each.text;
    request.profile = profile_;
  }
  const auto recorded = record_own(pool_, requests, kTextsOfJob, kDeadline);
  in_parallel(drawn.size(), options_.threads, [&](size_t i) {
    if (!recorded[i].value) return;
    drawn[i].task = asked_program(recorded[i].value->task);
  });
  for (const auto& each : recorded) {
    if (each.value) continue;
    ++unrecorded_;
    if (first_fault_.empty()) first_fault_ = each.fault->text();
  }
}

}  // namespace kw::train
