#include "train/run/run_folder.h"

#include <fstream>
#include <set>

#include "formats/base/error.h"
#include "formats/output.h"

namespace kw::train {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLock = ".lock";  // marks the folder as a run's, too

// Returns whether a run may go on with another value of this setting: it changes no result so far.
// A run may be evaluated more often, use other cores, or be made longer.
bool may_change(const std::string& key) {
  static const std::set<std::string> free = {"data.threads",
                                             "data.makers",
                                             "sft.checkpoint_every",
                                             "rl.checkpoint_every",
                                             "judge.jobs",
                                             "judge.opinion_key_env",
                                             "judge.opinion_concurrency",
                                             "judge.executors",
                                             "judge.gpu",
                                             "sft.evaluate_every",
                                             "sft.steps",
                                             "rl.steps"};
  return free.contains(key);
}

}  // namespace

RunFolder::RunFolder(fs::path folder, const Settings& settings, std::string start)
    : folder_(std::move(folder)), settings_(settings), start_(std::move(start)) {
  if (!last_checkpoint(folder_)) check_run_folder(folder_, kLock);
  make_folder(folder_);
  check_out_file(folder_ / kLock);
  std::ofstream(folder_ / kLock, std::ios::app).flush();
  lock_.emplace(folder_ / kLock);
  from_ = last_checkpoint(folder_);
  if (from_) check_same();
}

void RunFolder::check_same() const {
  const std::string other = "; give a folder of its own, or remove it";
  const JsonReader in(from_->state, (from_->folder / "state.json").string());
  const Json &stored = in.at("settings").raw(), now = settings_.record();
  std::string began, asked;
  for (const auto& [key, value] : now.items()) {
    // A setting that the run has not stored was added by a later version.
    if (may_change(key) || !stored.contains(key) || stored.at(key) == value) continue;
    if (key == "run.kind") {
      throw InputError(folder_.string() + ": has a run of kind " + stored.at(key).dump() +
                       ", and the recipe is of kind " + value.dump() + other);
    }
    began += " --set " + key + "=" + stored.at(key).dump();
    asked += " --set " + key + "=" + value.dump();
  }
  if (!began.empty()) {
    throw InputError(folder_.string() + ": has begun with" + began + ", and now there is" + asked +
                     other);
  }
  if (in.has("start") && in.at("start").string() != start_) {
    throw InputError(folder_.string() + ": has begun from another model.init than is there now" +
                     other);
  }
}

std::string RunFolder::goes_on_line() const {
  const std::string at = "step " + std::to_string(from_->step);
  const Json &stored = from_->state.at("settings"), now = settings_.record();
  for (const std::string key : {"sft.steps", "rl.steps"}) {
    if (!now.contains(key)) continue;
    if (from_->step >= now.at(key).get<int64_t>()) {
      return "is at " + at + " of " + now.at(key).dump() + " already (--set " + key +
             "=N goes on to another)";
    }
    if (stored.value(key, now.at(key)) == now.at(key)) continue;
    return "goes on from " + at + ", to step " + now.at(key).dump() + " in place of " +
           stored.at(key).dump() + ": rates are those of the new schedule from here on";
  }
  return "goes on from " + at;
}

void RunFolder::keep(int64_t step, const Transformer& model, const std::string& tokenizer_json,
                     const ParameterOptimizer& optimizer, Json state) const {
  state["settings"] = settings_.record();
  state["sources"] = settings_.sources();
  state["start"] = start_;
  write_checkpoint_of_run(folder_, step, model, tokenizer_json, optimizer, state);
}

}  // namespace kw::train
