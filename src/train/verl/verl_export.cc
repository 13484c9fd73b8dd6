#include "train/verl/verl_export.h"

#include <chrono>
#include <fstream>
#include <sstream>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/install.h"
#include "formats/model_folder.h"
#include "formats/output.h"
#include "policy/verl_row.h"
#include "runtime/session.h"
#include "train/step/placement.h"
#include "train/verl/verl_settings.h"
#include "train/verl/verl_tasks.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

constexpr char kRun[] =
    R"sh(#!/usr/bin/env bash
# Trains with verl by verl.yaml. Further settings of verl as arguments: trainer.n_gpus_per_node=4.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 -m verl.trainer.main_ppo --config-path "$here" --config-name verl "$@"
)sh";

// A file of any length, a row at a time. It throws EnvironmentError if it cannot be written.
class OutFile {
 public:
  explicit OutFile(fs::path path) : path_(std::move(path)), file_(path_, std::ios::binary) {
    check();
  }
  template <class T>
  OutFile& operator<<(const T& what) {
    file_ << what;
    return *this;
  }
  void close() {
    file_.close();
    check();
  }

 private:
  void check() const {
    if (!file_) throw EnvironmentError("cannot write " + path_.string());
  }
  const fs::path path_;
  std::ofstream file_;
};

// Returns the number of tasks: `asked`, or as many as the run would read.
int64_t tasks_of(const RlConfig& config, int64_t asked) {
  const int64_t read = config.tasks > 0 ? config.tasks : config.steps * config.prompts;
  const int64_t out = asked > 0 ? asked : read;
  if (out < config.prompts) {
    throw InputError("a batch has " + std::to_string(config.prompts) + " tasks (rl.prompts), and " +
                     std::to_string(out) + " are to be drawn: verl reads whole batches (--tasks " +
                     std::to_string(config.prompts) + " or more, or a smaller --set rl.prompts=N)");
  }
  return out;
}

Json row_of(const VerlTask& task, const std::string& split, int64_t index) {
  return verl_row(task.prompt, std::to_string(task.level), task.id,
                  {{"index", index},
                   {"split", split},
                   {"level", std::to_string(task.level)},
                   {"model", task.model}});
}

class Exporter {
 public:
  Exporter(const RlConfig& config, const Settings& settings, const VerlExport& what,
           const RunProgress& progress)
      : config_(config),
        settings_(settings),
        what_(what),
        progress_(progress),
        out_(fs::absolute(what.out).lexically_normal()),
        tasks_(tasks_of(config, what.tasks)),
        record_(settings.record()),
        made_(what.out, kNewFolder) {}

  void go() {
    draw();
    write_config();
    write_reward();
    write_text("run.sh", kRun);
    fs::permissions(made_.path() / "run.sh", fs::perms::owner_exec, fs::perm_options::add);
    write_text("README.md", readme());
    made_.keep();
    tell();
  }

 private:
  void draw() {
    const bool gpu = placed(config_.backend).device().is_cuda();
    Session session(default_session_config(device_profile(config_.target), gpu ? "cuda" : "cpu"));
    Examiner examiner(session.pool, session.executor, session.profile);
    const VerlDrawing drawing{examiner, session.profile, gpu};
    progress_.line("draws " + std::to_string(tasks_) + " tasks" +
                   (tasks_ > config_.prompts ? " (--tasks: fewer)" : ""));
    write_tasks("train", Split::kTrain, tasks_, drawing);
    // verl needs at least one.
    write_tasks("validation", Split::kValidation, std::max<int64_t>(1, config_.validation),
                drawing);
  }

  void write_tasks(const std::string& name, Split split, int64_t count,
                   const VerlDrawing& drawing) {
    OutFile file(made_.path() / (name + ".jsonl"));
    int64_t done = 0;
    draw_verl_tasks(config_, split, static_cast<size_t>(count), drawing, [&](const VerlTask& task) {
      file << row_of(task, name, done++).dump() << "\n";
      say_how_far(name, done, count);
    });
    file.close();
  }

  void say_how_far(const std::string& name, int64_t done, int64_t count) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_ < std::chrono::seconds(5)) return;
    said_ = now;
    progress_.line(name + ": " + std::to_string(done) + " of " + std::to_string(count) + " tasks");
  }

  void write_text(const std::string& name, const std::string& text) const {
    write_file(made_.path() / name, text);
  }

  // ---- verl.yaml

  std::map<std::string, VerlValue> config() const {
    std::map<std::string, VerlValue> out = verl_config(config_);
    const auto add = [&](const char* key, const std::string& value) { out[key] = {value, {}, ""}; };
    add("data.train_files", (out_ / "train.jsonl").string());
    add("data.val_files", (out_ / "validation.jsonl").string());
    add("reward.custom_reward_function.path", (out_ / "reward.py").string());
    add("reward.custom_reward_function.name", "compute_score");
    add("trainer.experiment_name", what_.recipe.stem().string());
    return out;
  }

  // Returns the comment of a value, such as "rl.rate, published".
  std::string source_of(const std::string& key) const {
    return key + ", " + settings_.sources().value(key, "default");
  }

  std::string comment(const VerlValue& value) const {
    std::string out = value.why;
    for (const std::string& key : value.keys) out += (out.empty() ? "" : "; ") + source_of(key);
    return out.empty() ? "" : "  # " + out;
  }

  // YAML 1.1 reads 1e-06 as text: such a number needs a dot.
  static std::string yaml_text(const Json& value) {
    if (value.is_array()) {
      std::string out;
      for (const Json& each : value) out += (out.empty() ? "" : ", ") + yaml_text(each);
      return "[" + out + "]";
    }
    std::string text = value.dump();
    const size_t power = text.find('e');
    if (value.is_number_float() && power != std::string::npos &&
        text.find('.') == std::string::npos) {
      text.insert(power, ".0");
    }
    return text;
  }

  static std::vector<std::string> parts_of(const std::string& key) {
    std::vector<std::string> out;
    std::istringstream in(key);
    for (std::string part; std::getline(in, part, '.');) out.push_back(part);
    return out;
  }

  void write_config() const {
    std::string text = "# " + what_.recipe.filename().string() + " for verl " + kVerlVersion +
                       "; README.md says what became of each setting.\n" +
                       "hydra:\n  searchpath:\n    - pkg://verl.trainer.config\n" +
                       "defaults:\n  - ppo_trainer\n  - _self_\n";
    std::vector<std::string> open;  // the mappings that the last line is in
    for (const auto& [key, value] : config()) {
      const std::vector<std::string> parts = parts_of(key);
      size_t same = 0;
      while (same < open.size() && same + 1 < parts.size() && open[same] == parts[same]) ++same;
      open.assign(parts.begin(), parts.end() - 1);
      for (size_t i = same; i < parts.size(); ++i) {
        text += std::string(2 * i, ' ') + parts[i] + ":";
        if (i + 1 < parts.size()) text += "\n";
      }
      text += " " + yaml_text(value.value) + comment(value) + "\n";
    }
    write_text("verl.yaml", text);
  }

  // ---- reward.py and its options

  void write_reward() const {
    Json flags = {"--coverage", "pure", "--device", config_.target, "--backend", config_.backend};
    if (config_.trials > 0) {
      flags.push_back("--trials");
      flags.push_back(std::to_string(config_.trials));
    }
    if (config_.executors > 1) {
      flags.push_back("--executors");
      flags.push_back(std::to_string(config_.executors));
    }
    if (!config_.time) flags.push_back("--no-time");
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "kernelwright";
    const Json options = {{"objective", config_.objective.name},
                          {"eval", flags},
                          {"program", program.string()},
                          {"environment", Json::object()}};
    write_text("reward.json", options.dump(2) + "\n");
    write_text("reward.py", read_file(shipped("src/train/verl/verl_reward.py")));
  }

  // ---- README.md, and what is said at the end

  std::string setting(const std::string& key) const { return key + " = " + record_.at(key).dump(); }

  // Returns the paragraph on a recipe whose objective verl lacks.
  std::string replaced() const {
    return what_.objective.empty() ? ""
                                   : "rl.objective is " + config_.objective.name +
                                         ", set in the place of the recipe's " + what_.objective +
                                         ", which verl does not have";
  }

  std::string repeated() const {
    const int64_t read = config_.steps * config_.prompts;
    return tasks_ >= read ? ""
                          : std::to_string(read) + " tasks are read, of which " +
                                std::to_string(tasks_) + " are different: they come again";
  }

  // Returns how verl's learning differs from the recipe's run.
  std::vector<std::string> differences() const {
    std::vector<std::string> out;
    if (config_.init.empty()) {
      out.push_back("model.init names no model: give run.sh actor_rollout_ref.model.path=MODEL");
    } else if (!fs::is_directory(config_.init)) {
      out.push_back("model.init is no folder here: verl takes " + config_.init +
                    " for a path from where run.sh is started, or a name on a hub");
    }
    if (!replaced().empty()) out.push_back(replaced());
    if (!repeated().empty()) out.push_back(repeated());
    for (const VerlRow& row : verl_rows()) {
      if (row.differs && row.differs(config_)) {
        out.push_back(setting(row.key) + " has no place: " + row.verl);
      }
    }
    return out;
  }

  std::string table(VerlFate fate) const {
    std::string out;
    for (const VerlRow& row : verl_rows()) {
      if (row.fate != fate) continue;
      const std::string to =
          row.value ? "`" + std::string(row.verl) + ": " + yaml_text(row.value(config_)) + "`"
                    : row.verl;
      out += "| `" + setting(row.key) + "` | " + settings_.sources().value(row.key, "default") +
             " | " + to + " |\n";
    }
    return "| setting | source | |\n|---|---|---|\n" + out;
  }

  std::string readme() const {
    std::string out = "# " + what_.recipe.filename().string() +
                      " for verl\n\nWritten by `kernelwright " + "recipe export`, for verl " +
                      kVerlVersion + ", by whose release the keys were " +
                      "checked.\n\n    bash run.sh trainer.nnodes=1 trainer.n_gpus_per_node=8\n\n";
    out +=
        R"(- `verl.yaml`: what the recipe says, over verl's `ppo_trainer`. Paths are those of this folder when it
  was written.
- `train.jsonl`, `validation.jsonl`: tasks as a chat model is asked. `extra_info.model` is the task as a model
  file. verl leaves out prompts that are too long for the model's tokenizer.
- `reward.py`, `reward.json`: answers are judged by `kernelwright eval`, one verifier for the whole run. verl logs
  what it finds as `acc` (right), `valid`, `speedup` and `judged`. Workers of Ray that have no GPU hide those of
  the machine: set `environment` in `reward.json`, such as `{"CUDA_VISIBLE_DEVICES": "7"}`, to one that verl does
  not train on, or no time can be believed. `$KERNELWRIGHT_BINARY` names another program than `program`. Where the
  machine cannot judge, verl gets an exception, not a reward: it leaves the prompt out of its batch, and ends
where none is left. An answer alone that cannot be judged is tried again, then worth 0, with `judged` 0; eight
in a row are an exception.

)";
    out += "## What verl does otherwise\n\n";
    for (const std::string& each : differences()) out += "- " + each + ".\n";
    out +=
        R"(- `data.max_prompt_length` counts the instructions of a chat model too, some 400 tokens: it has 512 more
  than the recipe's `data.longest_prompt`, which counts the task's text alone.
- Advantages are divided by the standard deviation of a sample (n - 1), not of the group (n).
- The rate rises from 0: verl's first batch of a warm-up teaches nothing.
- Ratios are against log-probabilities that verl computes again, not against those of sampling.
- Decay is of all weights, norms and biases too.
- An answer that was not judged stays in its group.

## Settings of verl

)" + table(VerlFate::kConfig) +
        "\n## What tasks are drawn by\n\n" + table(VerlFate::kTasks) +
        "\n## What rewards are judged by\n\n" + table(VerlFate::kReward) +
        "\n## What has no place in verl\n\n" + table(VerlFate::kNoPlace);
    return out;
  }

  void tell() const {
    progress_.line(out_.string() + ": " + std::to_string(tasks_) +
                   " tasks, run.sh trains with verl " + kVerlVersion +
                   ", README.md says what became of each setting");
    for (const std::string& each : differences()) progress_.line(each);
  }

  const RlConfig& config_;
  const Settings& settings_;
  const VerlExport& what_;
  const RunProgress& progress_;
  const fs::path out_;
  const int64_t tasks_;
  const Json record_;
  OutputFolder made_;  // takes the place of out_ when it is whole
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

}  // namespace

void export_to_verl(const RlConfig& config, const Settings& settings, const VerlExport& what,
                    const RunProgress& progress) {
  check_verl_has(config.objective.name);
  check(config);
  if (!config.init.empty() && find_model(config.init).adapter) {
    throw InputError("model.init is an adapter's folder, which verl does not begin with: " +
                     config.init);
  }
  Exporter(config, settings, what, progress).go();
}

}  // namespace kw::train
