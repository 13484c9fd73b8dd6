#include "train/verl/verl_tasks.h"

#include <algorithm>

#include "formats/base/error.h"
#include "program/rewrite/transform.h"
#include "synth/task_row.h"

namespace kw::train {
namespace {

constexpr size_t kAtOnce = 32;  // tasks of a level and window; bounds the memory
constexpr size_t kMostPassedOver = 500;

// Draws the tasks of one level and window.
class Stream {
 public:
  Stream(SynthOptions options, std::string name, const VerlDrawing& drawing)
      : synthesiser_(std::move(options)), name_(std::move(name)), drawing_(drawing) {}

  std::vector<VerlTask> examined(size_t count) {
    std::vector<VerlTask> out;
    SynthCounts counts;
    draw_clean(synthesiser_, {.full_size = drawing_.full_size}, next_, next_ + count,
               drawing_.examiner, counts, [&](const SynthTask& task) {
                 out.push_back(made(task.index, model_text(task.program), *task.recorded));
               });
    next_ += count;
    return out;
  }

  // Records a program alone; one that cannot be recorded or computes nothing is skipped.
  std::vector<VerlTask> unexamined(size_t count) {
    std::vector<VerlTask> out;
    size_t passed_over = 0;
    std::string fault = "they compute nothing";
    while (out.size() < count) {
      const std::vector<Examiner::Model> models = drawn(count - out.size(), passed_over);
      const std::vector<Examiner::Examined> found = drawing_.examiner.examine(models);
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i].hygiene.flaw != Flaw::kNone) {
          fault = found[i].hygiene.reason;
          ++passed_over;
          continue;
        }
        out.push_back(made(models[i].seed, models[i].text, found[i].task));
        passed_over = 0;
      }
      if (passed_over < kMostPassedOver) continue;
      throw InputError(std::to_string(passed_over) + " programs in a row are no tasks: " + fault);
    }
    return out;
  }

 private:
  // Models are seeded by their indices, though nothing is drawn from these seeds.
  std::vector<Examiner::Model> drawn(size_t count, size_t& passed_over) {
    std::vector<Examiner::Model> out;
    SynthCounts counts;
    for (; count > 0; --count, ++next_) {
      Random random = synthesiser_.random(next_);
      const SynthProgram program = synthesiser_.draw(next_, 0, random, counts);
      if (only_views(program.skeleton)) {
        ++passed_over;
        continue;
      }
      out.push_back({id(next_) + ".py", model_text(program), next_, /*examine=*/false});
    }
    return out;
  }

  std::string id(uint64_t index) const { return name_ + synth_id(synthesiser_.options(), index); }

  VerlTask made(uint64_t index, std::string model, const Task& recorded) const {
    return {id(index), synthesiser_.options().level, std::move(model),
            make_prompt(asked_program(recorded), drawing_.profile)};
  }

  const Synthesiser synthesiser_;
  const std::string name_;
  const VerlDrawing& drawing_;
  uint64_t next_ = 0;
};

std::vector<Stream> streams_of(const RlConfig& config, Split split, const VerlDrawing& drawing) {
  const ProgramOptions programs = task_programs(config, split);
  std::vector<Stream> out;
  for (size_t window = 0; window < programs.limits.size(); ++window) {
    for (const int level : programs.levels) {
      const bool several = programs.limits.size() > 1;
      out.emplace_back(synth_options(programs, level, programs.limits[window]),
                       several ? "window" + std::to_string(window) + "-" : "", drawing);
    }
  }
  return out;
}

}  // namespace

void draw_verl_tasks(const RlConfig& config, Split split, size_t count, const VerlDrawing& drawing,
                     const std::function<void(const VerlTask&)>& take) {
  std::vector<Stream> streams = streams_of(config, split, drawing);
  for (size_t done = 0; done < count;) {
    const size_t all = std::min(count - done, kAtOnce * streams.size());
    std::vector<std::vector<VerlTask>> tasks;
    for (size_t i = 0; i < streams.size(); ++i) {
      const size_t own = all / streams.size() + (i < all % streams.size());
      tasks.push_back(config.hygiene ? streams[i].examined(own) : streams[i].unexamined(own));
    }
    for (size_t i = 0; i < all; ++i) take(tasks[i % streams.size()][i / streams.size()]);
    done += all;
  }
}

}  // namespace kw::train
