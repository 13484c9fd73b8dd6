#include "synth/task_source.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>

#include "formats/base/error.h"
#include "synth/task_row.h"

namespace kw {
namespace {

// Streams of random numbers beside the one that programs are drawn from.
enum Stream : uint64_t { kTwins = 1, kExaminations = 2 };

// What only moves elements counts no operations, and is to be small too.
DimsLimits twin_limits(const SynthOptions& options, const HygieneOptions& hygiene) {
  DimsLimits limits = options.limits;
  limits.low_flops = hygiene.twin_low;
  limits.high_flops = hygiene.twin_high;
  limits.tensor = std::min(limits.tensor, hygiene.twin_high);
  limits.total = std::min(limits.total, 8 * hygiene.twin_high);
  return limits;
}

// A program is its own twin where its window is no larger than the twins', and so are its tensors.
bool needs_twin(const SynthOptions& options, const DimsLimits& twins, const SynthProgram& program) {
  if (options.limits.high_flops > twins.high_flops) return true;
  double total = 0;
  for (const std::vector<int64_t>& shape : program.shapes) {
    const double elements = std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies());
    if (elements > twins.tensor) return true;
    total += elements;
  }
  return total > twins.total;
}

// One index on its way.
struct Pending {
  Pending(const Synthesiser& synthesiser, uint64_t index)
      : random(synthesiser.random(index)),
        twins(synthesiser.random(index, kTwins)),
        examinations(synthesiser.random(index, kExaminations)) {
    task.index = index;
  }
  Random random, twins, examinations;
  SynthTask task;
  uint64_t before = 0;  // programs drawn
  Hygiene hygiene;
  bool done = false;
};

void draw(const Synthesiser& synthesiser, const HygieneOptions& hygiene, Pending& pending,
          SynthCounts& counts) {
  pending.hygiene = {};
  const SynthOptions& options = synthesiser.options();
  pending.task.program =
      synthesiser.draw(pending.task.index, pending.before++, pending.random, counts);
  if (only_views(pending.task.program.skeleton)) {
    pending.hygiene = {Flaw::kNothing, "its results are views of its inputs"};
  }
  pending.task.twin.reset();
  const DimsLimits limits = twin_limits(options, hygiene);
  if (!needs_twin(options, limits, pending.task.program)) return;
  pending.task.twin = resize(pending.task.program, limits, pending.twins);
  if (!pending.task.twin && pending.hygiene.flaw == Flaw::kNone)
    pending.hygiene = {Flaw::kNoTwin, "no sizes in the twins' window"};
}

class CleanTasks {
 public:
  CleanTasks(const Synthesiser& synthesiser, const HygieneOptions& hygiene, Examiner& examiner,
             SynthCounts& counts)
      : synthesiser_(synthesiser), hygiene_(hygiene), examiner_(examiner), counts_(counts) {}

  void round(std::deque<Pending>& pending) {
    std::vector<Pending*> asked;
    for (Pending& each : pending) {
      if (!each.done) asked.push_back(&each);
    }
    for (Pending* each : asked) draw(synthesiser_, hygiene_, *each, counts_);
    examine(asked, true);
    examine(asked, false);
    for (Pending* each : asked) settle(*each);
  }

 private:
  // All twins, or all programs: those that have no twin are judged, and at full size all are.
  void examine(const std::vector<Pending*>& asked, bool twins) {
    std::vector<Examiner::Model> models;
    std::vector<Pending*> owners;
    for (Pending* each : asked) {
      if (each->hygiene.flaw != Flaw::kNone || (twins && !each->task.twin)) continue;
      const bool judge = twins || hygiene_.full_size || !each->task.twin;
      const SynthProgram& program = twins ? *each->task.twin : each->task.program;
      models.push_back({synth_id(synthesiser_.options(), each->task.index) + ".py",
                        model_text(program), each->examinations.bits(), judge});
      owners.push_back(each);
    }
    std::vector<Examiner::Examined> examined = examiner_.examine(models);
    for (size_t i = 0; i < owners.size(); ++i) {
      owners[i]->hygiene = std::move(examined[i].hygiene);
      if (!twins) owners[i]->task.recorded = std::move(examined[i].task);
    }
  }

  void settle(Pending& pending) {
    SynthTask& task = pending.task;
    pending.done = pending.hygiene.flaw == Flaw::kNone;
    if (pending.done) return;
    RejectedProgram& rejected = task.rejected.emplace_back();
    rejected.flaw = pending.hygiene.flaw;
    rejected.reason = std::move(pending.hygiene.reason);
    for (const SynthStep& step : task.program.skeleton) {
      rejected.operators.emplace_back(step.op->name);
    }
    if (task.rejected.size() < kMostRejected) return;
    throw InputError(
        "task " + std::to_string(task.index) + ": " + std::to_string(kMostRejected) +
        " programs in a row are no fair tasks, the last: " + std::string(flaw_name(rejected.flaw)) +
        ": " + rejected.reason + " (--no-hygiene takes programs as they are drawn)");
  }

  const Synthesiser& synthesiser_;
  const HygieneOptions& hygiene_;
  Examiner& examiner_;
  SynthCounts& counts_;
};

}  // namespace

SynthTask redraw(const Synthesiser& synthesiser, const HygieneOptions& hygiene, uint64_t index,
                 size_t rejected, SynthCounts& counts) {
  Pending pending(synthesiser, index);
  for (size_t i = 0; i <= rejected; ++i) draw(synthesiser, hygiene, pending, counts);
  return std::move(pending.task);
}

void draw_clean(const Synthesiser& synthesiser, const HygieneOptions& hygiene, uint64_t begin,
                uint64_t end, Examiner& examiner, SynthCounts& counts,
                const std::function<void(SynthTask)>& done) {
  CleanTasks tasks(synthesiser, hygiene, examiner, counts);
  std::deque<Pending> pending;
  for (uint64_t next = begin; next < end || !pending.empty();) {
    while (next < end && pending.size() < examiner.at_once())
      pending.emplace_back(synthesiser, next++);
    tasks.round(pending);
    for (; !pending.empty() && pending.front().done; pending.pop_front()) {
      done(std::move(pending.front().task));
    }
  }
}

}  // namespace kw
