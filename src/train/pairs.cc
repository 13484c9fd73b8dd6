#include "train/pairs.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "formats/error.h"
#include "policy/prompt.h"
#include "policy/teacher/teacher.h"
#include "program/transform.h"
#include "synth/program.h"
#include "worker/jobs.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// Streams of a program's numbers beside those that synthesis draws it by.
constexpr uint64_t kLevelStream = 101, kNameStream = 102;
constexpr size_t kTextsOfJob = 16;
constexpr std::chrono::milliseconds kDeadline{120'000};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

struct PairSource::Drawn {
  uint64_t index = 0;
  int level = 1;
  std::string operators, text;
  std::optional<Task> task;  // of its whole forward program
};

PairSource::PairSource(PairOptions options, WorkerPool& pool, const DeviceProfile& profile)
    : options_(std::move(options)), pool_(pool), profile_(profile) {
  if (options_.levels.empty()) throw InputError("pairs of no level were asked for");
  if (options_.limits.empty()) throw InputError("pairs of no size were asked for");
  if (options_.threads == 0) {
    options_.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
}

void PairSource::in_parallel(size_t count, const std::function<void(size_t)>& work) const {
  std::atomic<size_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (int t = 0; t < options_.threads; ++t) {
    threads.emplace_back([&] {
      try {
        for (size_t i = next++; i < count; i = next++) work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = std::current_exception();
        next = count;
      }
    });
  }
  threads.clear();  // waits
  if (failed) std::rethrow_exception(failed);
}

std::vector<PairSource::Drawn> PairSource::draw(uint64_t begin, uint64_t end) {
  std::vector<Synthesiser> synthesisers;
  for (const int level : options_.levels) {
    for (const DimsLimits& limits : options_.limits) {
      SynthOptions synth;
      synth.level = level;
      synth.seed = options_.seed;
      synth.dtype = options_.dtype;
      synth.limits = limits;
      if (level > 1) synth.split = options_.split;
      synthesisers.emplace_back(synth);
    }
  }
  std::vector<Drawn> out(end - begin);
  in_parallel(out.size(), [&](size_t i) {
    const uint64_t index = begin + i;
    const size_t which = Random(options_.seed, index, kLevelStream).below(synthesisers.size());
    Random random = synthesisers[which].random(index);
    SynthCounts counts;
    const SynthProgram program = synthesisers[which].draw(index, 0, random, counts);
    Drawn& drawn = out[i];
    drawn.index = index;
    drawn.level = options_.levels[which / options_.limits.size()];
    drawn.text = model_text(program);
    for (const SynthStep& step : program.skeleton) {
      drawn.operators += (drawn.operators.empty() ? "" : ", ") + std::string(step.op->name);
    }
  });
  return out;
}

void PairSource::record(std::vector<Drawn>& drawn) {
  std::vector<RecordRequest> requests;
  for (const Drawn& each : drawn) {
    RecordRequest& request = requests.emplace_back();
    request.file = "program" + std::to_string(each.index) + ".py";
    request.text = each.text;
    request.profile = profile_;
  }
  const auto recorded = record_own(pool_, requests, kTextsOfJob, kDeadline);
  in_parallel(drawn.size(), [&](size_t i) {
    if (!recorded[i].value) return;
    const Task task = canonical(recorded[i].value->task);
    std::vector<int> steps(task.forward.steps.size());
    std::iota(steps.begin(), steps.end(), 0);
    drawn[i].task = cut(task, steps).task;
  });
  for (const auto& each : recorded) {
    if (each.value) continue;
    ++counts_.unrecorded;
    if (first_fault_.empty()) first_fault_ = each.fault->text();
  }
}

std::vector<Pair> PairSource::write(const Drawn& drawn) const {
  std::vector<Pair> out;
  if (!drawn.task) return out;
  Random random(options_.seed, drawn.index, kNameStream);
  const auto most = static_cast<uint64_t>(options_.most_names);
  const Naming naming{static_cast<int>(random.below(most)), static_cast<int>(random.below(most))};
  const auto teacher = make_teacher({.whole = true, .naming = naming});
  const auto proposals =
      teacher->propose(*drawn.task, profile_, options_.schedules, 0, Clock::time_point::max());
  for (const Proposal& proposal : proposals) {
    Pair& pair = out.emplace_back();
    pair.index = drawn.index;
    pair.level = drawn.level;
    pair.schedule = static_cast<int>(out.size()) - 1;
    pair.operators = drawn.operators;
    pair.prompt = task_text(*drawn.task, naming.first_value);
    pair.plan = proposal.plan;
    pair.code = proposal.source;
  }
  return out;
}

std::vector<Pair> PairSource::make(uint64_t begin, uint64_t end) {
  auto start = Clock::now();
  std::vector<Drawn> drawn = draw(begin, end);
  counts_.draw_seconds += seconds_since(start);
  start = Clock::now();
  record(drawn);
  counts_.record_seconds += seconds_since(start);
  start = Clock::now();
  std::vector<std::vector<Pair>> made(drawn.size());
  in_parallel(drawn.size(), [&](size_t i) { made[i] = write(drawn[i]); });
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

}  // namespace kw
