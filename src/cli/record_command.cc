// kernelwright record FILE.py [--out BUNDLE]
#include <cstdio>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "formats/base/error.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"
#include "report/markup/step_text.h"
#include "verify/verdict/statistics.h"
#include "verify/verifier.h"
#include "worker/model_file.h"

namespace kw {
namespace {

struct RecordFlags {
  std::string file, cls = "Model", out;
  int repeat = 1;
  MachineFlags machine;
};

// "linear(x, fc.weight) -> t2: fp32 4×8"
std::string line_of(const StepText& text, int step) {
  std::string line = text.line(step);
  if (const size_t equals = line.find(" = "); equals != std::string::npos) {
    line.erase(0, equals + 3);
  }
  std::string results;
  for (ValueId id : step_defines(text.program().steps[step])) {
    results += (results.empty() ? "" : ", ") + text.name(id) + ": " +
               shape_text(text.program().values[id]);
  }
  return results.empty() ? line : line + " -> " + results;
}

int run_record(const RecordFlags& flags) {
  Machine machine(flags.machine, {flags.file});
  const RecordRequest request =
      request_for_file(flags.file, flags.cls, flags.machine.set, machine.profile);
  const auto built = build_task(machine.pool, request, build_within(std::chrono::seconds(120)));
  if (built.fault) throw_fault(*built.fault);
  // The first record of a worker pays for what later ones share; --repeat shows the rest.
  std::vector<double> seconds, wall;
  for (int i = 1; i < flags.repeat; ++i) {
    const JobResult again = machine.pool.run(record_job(request, std::chrono::seconds(120)));
    const auto recorded = record_result(again, request);
    if (recorded.fault) throw_fault(*recorded.fault);
    seconds.push_back(recorded.value->seconds);
    wall.push_back(again.seconds);
  }
  const Task task = canonical(built.value->task);
  if (!flags.out.empty()) write_bundle(task, flags.out);
  std::printf("recorded %s in %.0f ms: %zu state tensors, %zu kernels\n", flags.file.c_str(),
              1e3 * built.value->record_seconds, task.state.size(), task.kernels.size());
  for (const std::string& warning : built.value->warnings) {
    std::printf("warning: %s\n", warning.c_str());
  }
  const StepText text(task);
  for (size_t i = 0; i < task.forward.steps.size(); ++i) {
    std::printf("  %s\n", line_of(text, static_cast<int>(i)).c_str());
  }
  if (!seconds.empty()) {
    std::printf("%zu more records: median %.0f ms, %.0f ms with the worker's fork\n",
                seconds.size(), 1e3 * median(seconds), 1e3 * median(wall));
  }
  std::printf("canonical %s\nstructure %s\n", canonical_hash(task).c_str(),
              structure_hash(task).c_str());
  if (!flags.out.empty()) std::printf("%s\n", flags.out.c_str());
  return 0;
}

}  // namespace

Command add_record(CLI::App& app) {
  auto flags = std::make_shared<RecordFlags>();
  app.add_option("file", flags->file, "model or candidate file")->required();
  app.add_option("--class", flags->cls, "the class to record (ModelNew for a candidate)")
      ->capture_default_str();
  app.add_option("--out", flags->out, "bundle folder to write (default: none)");
  app.add_option("--repeat", flags->repeat, "record so many times and print the median time")
      ->check(CLI::Range(1, 1000));
  flags->machine.add_to(app);
  return [flags] { return run_record(*flags); };
}

}  // namespace kw
