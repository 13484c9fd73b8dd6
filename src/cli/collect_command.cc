// kernelwright collect RUN... --out FOLDER
#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "eval/collect/collect.h"
#include "eval/run/figures.h"
#include "eval/suite/suite_models.h"
#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"
#include "formats/output.h"
#include "policy/chat/conversation.h"
#include "policy/task_key.h"
#include "policy/verl_row.h"
#include "program/rewrite/transform.h"
#include "worker/services/parquet.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kRecordDeadline{120};
constexpr size_t kAtOnce = 64;  // models that are held as tasks

struct CollectFlags {
  std::vector<std::string> runs, against;
  std::string out;
  bool verl = false, hybrids = false;
  KeepOptions keep;
  MachineFlags machine;
};

std::vector<JobOutcome<BuiltTask>> recorded(Machine& machine,
                                            const std::vector<SuiteModel>& models) {
  std::vector<RecordRequest> requests;
  for (const SuiteModel& model : models) requests.push_back(model.request);
  return build_tasks(machine.pool, requests, build_within(kRecordDeadline));
}

void hold_out(const CollectFlags& flags, Machine& machine, Keeper& keeper) {
  if (flags.against.empty()) return;
  const std::vector<SuiteModel> models =
      read_suite(suite_files(flags.against), {}, flags.machine.set, machine.profile, machine.pool);
  const auto tasks = recorded(machine, models);
  for (size_t i = 0; i < models.size(); ++i) {
    if (!tasks[i].value) {
      throw InputError("--against: " + models[i].request.file +
                       " was not recorded: " + (tasks[i].fault ? tasks[i].fault->text() : ""));
    }
    const Task task = asked_program(tasks[i].value->task);
    keeper.hold_out(forward_structure_hash(task), models[i].original);
  }
}

// One row: what a chat model is asked, the task alone, the answer, and where it is from.
std::string row_of(const FoundTask& found, const FoundAnswer& answer, const Task& task,
                   const std::string& structure, const DeviceProfile& profile) {
  const Prompt prompt = make_prompt(task, profile);
  Json about = {{"task", task_text(task, asked_name(answer.plan))},
                {"structure", structure},
                {"level", found.level},
                {"difficulty",
                 {{"label", difficulty(found)}, {"right", found.right}, {"judged", found.judged}}},
                {"provenance",
                 {{"route", answer.route},
                  {"run", answer.run},
                  {"model", answer.model},
                  {"sample", answer.sample},
                  {"family", answer.family}}},
                {"speedup_eager", answer.speedup ? Json(*answer.speedup) : Json()},
                {"program", answer.program},
                {"file", file_does_name(answer.file)},
                {"reference", found.text}};
  return conversation_line({prompt.user, answer.plan, answer.code, prompt.system}, about);
}

// A task with rows, for reinforcement learning, with the fastest answer that is known.
std::string verl_row_of(const FoundTask& found, const FoundAnswer& best, const Task& task,
                        const std::string& structure, const DeviceProfile& profile, size_t index) {
  const std::string id = fs::path(found.name).stem().string();
  std::string_view level = found.level;
  if (level.starts_with("level")) level.remove_prefix(5);  // a folder's name
  return verl_row(make_prompt(task, profile), std::string(level), id,
                  {{"index", index},
                   {"split", "train"},
                   {"level", level},
                   {"model", found.cls == "Model" ? found.text  // as rewards name it
                                                  : found.text + "\n\nModel = " + found.cls + "\n"},
                   {"structure", structure},
                   {"difficulty", difficulty(found)},
                   {"route", best.route},
                   {"program", best.program},
                   {"file", file_does_name(best.file)},
                   {"answer", answer_text(best.plan, best.code)}})
             .dump() +
         "\n";
}

int run_collect(const CollectFlags& flags) {
  if (fs::exists(fs::path(flags.out) / "rows.jsonl"))
    throw InputError(flags.out + " has rows already; choose another --out");
  if (fs::exists(fs::path(flags.out) / kEvalLinesFile))
    throw InputError("--out " + flags.out + " is a run of eval; choose another --out for its rows");
  check_out_folder(flags.out, kNewFolder);
  if (flags.verl) check_parquet();
  std::vector<EvalRun> runs;
  for (const std::string& path : flags.runs) {
    runs.push_back(read_eval_run(path));
    refuse_search(runs.back());
  }
  Yields yields;
  std::vector<FoundTask> found = find_answers(runs, yields, flags.hybrids);
  Machine machine(flags.machine, flags.against);
  Keeper keeper(flags.keep, yields);
  hold_out(flags, machine, keeper);
  std::string rows, verl_rows;
  size_t tasks = 0, kept = 0;
  for (size_t begin = 0; begin < found.size(); begin += kAtOnce) {
    const size_t end = std::min(begin + kAtOnce, found.size());
    std::vector<RecordRequest> requests;
    for (size_t i = begin; i < end; ++i) {
      RecordRequest request;
      request.text = found[i].text;
      request.file = found[i].name;
      request.cls = found[i].cls;
      request.profile = machine.profile;
      requests.push_back(std::move(request));
    }
    const auto built = build_tasks(machine.pool, requests, build_within(kRecordDeadline));
    for (size_t i = begin; i < end; ++i) {
      const auto& outcome = built[i - begin];
      if (!outcome.value) {
        keeper.drop(found[i], "the model is not recorded: " + outcome.fault->code);
        continue;
      }
      const Task task = asked_program(outcome.value->task);
      const std::string structure = forward_structure_hash(task);
      const std::vector<FoundAnswer> answers = keeper.keep(found[i], structure);
      for (const FoundAnswer& answer : answers)
        rows += row_of(found[i], answer, task, structure, machine.profile);
      if (answers.empty()) continue;
      verl_rows +=
          verl_row_of(found[i], answers.front(), task, structure, machine.profile, tasks++);
      kept += answers.size();
    }
    std::fprintf(stderr, "collect: %zu of %zu models, %s\n", end, found.size(),
                 count_text(kept, "row").c_str());
  }
  OutputFolder out(flags.out, kNewFolder);
  if (flags.verl && kept > 0) {
    const ScratchFolder scratch("kw-collect");
    write_file(scratch.path() / "rows.jsonl", verl_rows);
    write_parquet(scratch.path() / "rows.jsonl", out.path() / "verl.parquet");
  }
  write_file(out.path() / "yields.json", yields_json(yields).dump(1) + "\n");
  write_file(out.path() / "rows.jsonl", rows);
  out.keep();
  for (const auto& [route, yield] : yields) {
    const auto counted = [](int64_t count, const char* noun) {
      return count_text(static_cast<size_t>(count), noun);
    };
    std::printf("%s: %s of %s to %s\n", route.c_str(), counted(yield.kept, "row").c_str(),
                counted(yield.answers, "answer").c_str(), counted(yield.models, "model").c_str());
    for (const auto& [reason, count] : yield.dropped)
      std::printf("  %6lld %s\n", static_cast<long long>(count), reason.c_str());
  }
  std::printf("%s of %s: %s\n", count_text(kept, "row").c_str(), count_text(tasks, "task").c_str(),
              (fs::path(flags.out) / "rows.jsonl").c_str());
  return kept > 0 ? 0 : 1;
}

}  // namespace

Command add_collect(CLI::App& app) {
  auto flags = std::make_shared<CollectFlags>();
  app.add_option("runs", flags->runs, "folders that kernelwright eval --out left")->required();
  app.add_option("--out", flags->out, "folder for rows.jsonl and yields.json")->required();
  app.add_option("--against", flags->against,
                 "suites, as eval takes them, that rows must not be of: no program of the same "
                 "structure, whatever its sizes, and no text that is mostly theirs");
  app.add_option("--answers", flags->keep.answers, "kept of a task, the fastest first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--variants", flags->keep.variants,
                 "tasks of one structure, which differ in sizes, that have rows")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--alike", flags->keep.alike,
                 "two answers to a task are not both kept where they share so much of their runs "
                 "of five tokens")
      ->check(real_number(0, 1))
      ->capture_default_str();
  app.add_option("--known-text", flags->keep.known_text,
                 "with --against, a model whose runs of thirteen tokens are known to so much")
      ->check(real_number(0, 1))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--file", [flags](const std::string& value) { flags->keep.same_file = value == "same"; },
         "same: only answers whose own text does what the judged program does, in plain Python "
         "(eval --run-file); any: the column file says what is known")
      ->check(CLI::IsMember({"any", "same"}))
      ->default_str("any");
  app.add_flag(
      "--hybrids", flags->hybrids,
      "keep answers that leave PyTorch a part of the work, too, of runs without --coverage pure");
  app.add_flag("--verl", flags->verl,
               "also verl.parquet: each task once, in verl's columns, for reinforcement learning");
  flags->machine.add_backend_to(app);
  app.footer(
      "Rows are conversations (docs/formats/conversations.md) with where each is from, how hard\n"
      "its task was, and how fast the answer is. What to collect is judged first, by any "
      "policy:\n\n"
      "  kernelwright synth --level 2 --count 500 --out tasks.jsonl\n"
      "  kernelwright eval tasks.jsonl --policy teacher --samples 4 --coverage pure --out run\n"
      "  kernelwright collect run --out rows --against held_out/\n"
      "  kernelwright train RECIPE.toml --set data.rows=rows/rows.jsonl --out model");
  return [flags] { return run_collect(*flags); };
}

}  // namespace kw
