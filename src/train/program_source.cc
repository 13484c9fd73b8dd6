#include "train/program_source.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "formats/error.h"
#include "program/transform.h"
#include "synth/program.h"
#include "train/streams.h"

namespace kw {
namespace {

constexpr uint64_t kValidation = 0x76616c6964617465;  // any number but 0
constexpr size_t kTextsOfJob = 16;
constexpr std::chrono::milliseconds kDeadline{120'000};

}  // namespace

uint64_t validation_seed(uint64_t seed) { return seed ^ kValidation; }

FirstNames first_names(uint64_t seed, uint64_t index, int below) {
  Random random(seed, index, kNameStream);
  const int value = static_cast<int>(random.below(static_cast<uint64_t>(below)));
  return {value, value};
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
  if (options_.threads == 0) {
    options_.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
}

size_t ProgramSource::choose_level(uint64_t index) const {
  Random random(options_.seed, index, kLevelStream);
  if (options_.weights.empty()) return random.below(options_.levels.size());
  const double all = std::accumulate(options_.weights.begin(), options_.weights.end(), 0.0);
  double left = random.uniform() * all;
  size_t last = 0;  // rounding must not give a level of no weight
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
      SynthOptions synth;
      synth.level = level;
      synth.seed = options_.seed;
      synth.dtype = options_.dtype;
      synth.operators = options_.operators;
      synth.limits = limits;
      if (level > 1) synth.split = options_.split;
      synthesisers.emplace_back(synth);
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
    const Task task = canonical(recorded[i].value->task);
    std::vector<int> steps(task.forward.steps.size());
    std::iota(steps.begin(), steps.end(), 0);
    drawn[i].task = cut(task, steps).task;
  });
  for (const auto& each : recorded) {
    if (each.value) continue;
    ++unrecorded_;
    if (first_fault_.empty()) first_fault_ = each.fault->text();
  }
}

}  // namespace kw
