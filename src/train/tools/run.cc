#include "train/tools/run.h"

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "train/rl/rl_run.h"
#include "train/run/run_start.h"
#include "train/sft/sft_run.h"
#include "train/verl/verl_export.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

TomlFile read_toml(const fs::path& path) {
  return parse_toml(read_file(path, kMostSource), path.string());
}

// Returns the kind of run. It is read first, as it decides which keys exist.
std::string kind_of(const TomlFile& file) {
  const Json& values = file.values;
  if (!values.contains("run") || !values.at("run").is_object()) return "sft";
  const Json& kind = values.at("run").value("kind", Json("sft"));
  if (kind != "sft" && kind != "rl") {
    throw InputError("run.kind is " + kind.dump() + ", expected \"sft\" or \"rl\"");
  }
  return kind.get<std::string>();
}

// A configuration with its description.
template <class Config>
struct Described {
  Config config;
  Settings settings;

  Described() { describe(settings, config); }
  void read(const TomlFile& file, const fs::path& path, const std::vector<std::string>& set) {
    settings.read(file, path.string());
    for (const std::string& assignment : set) settings.set(assignment);
  }
};

// Reads a recipe and calls `sft` or `rl` with its configuration.
template <class Sft, class Rl>
auto with_recipe(const fs::path& recipe, const std::vector<std::string>& set, const Sft& sft,
                 const Rl& rl) {
  const TomlFile file = read_toml(recipe);
  if (kind_of(file) == "rl") {
    Described<RlConfig> described;
    described.read(file, recipe, set);
    return rl(described);
  }
  Described<SftConfig> described;
  described.read(file, recipe, set);
  return sft(described);
}

void tell_of_start(const RunConfig& config, bool has_reference, const fs::path& out,
                   const RunProgress& progress) {
  const std::string warning = check_start(config, has_reference, out);
  if (!warning.empty()) progress.line(warning);
}

}  // namespace

RecipeRun run_recipe(const fs::path& recipe, const std::vector<std::string>& set,
                     const fs::path& out, const std::atomic<bool>& stop,
                     const RunProgress& progress) {
  return with_recipe(
      recipe, set,
      [&](const Described<SftConfig>& it) {
        check(it.config);
        tell_of_start(it.config, /*has_reference=*/false, out, progress);
        const int64_t step = run_sft(it.config, it.settings, out, stop, progress);
        return RecipeRun{step, step >= it.config.steps};
      },
      [&](const Described<RlConfig>& it) {
        check(it.config);  // before workers are started
        tell_of_start(it.config, has_reference(it.config), out, progress);
        VerifyingCrew crew(it.config);
        const RlEnd end = run_rl(it.config, it.settings, out, stop, progress, crew.parts());
        return RecipeRun{end.step, end.done};
      });
}

void export_recipe(const fs::path& recipe, const std::vector<std::string>& set,
                   const std::string& target, const fs::path& out, int64_t tasks,
                   const RunProgress& progress) {
  if (target != "verl") throw InputError("--to " + target + ": there is only verl");
  // The recipe's objective, without the assignments in `set`.
  std::string objective;
  with_recipe(
      recipe, {}, [](const Described<SftConfig>&) {},
      [&](const Described<RlConfig>& it) { objective = it.config.objective.name; });
  with_recipe(
      recipe, set,
      [&](const Described<SftConfig>&) {
        throw InputError(recipe.string() +
                         ": is of kind sft; what is exported is reinforcement learning (rl)");
      },
      [&](const Described<RlConfig>& it) {
        if (objective == it.config.objective.name) objective.clear();
        export_to_verl(it.config, it.settings, {recipe, out, objective, tasks}, progress);
      });
}

void check_recipe(const fs::path& recipe) {
  with_recipe(
      recipe, {}, [](const Described<SftConfig>& it) { check(it.config); },
      [](const Described<RlConfig>& it) { check(it.config); });
}

std::string settings_help(const std::string& kind) {
  if (kind == "rl") return Described<RlConfig>().settings.help();
  if (kind == "sft") return Described<SftConfig>().settings.help();
  throw InputError("there is no kind of run " + kind + ": sft, rl");
}

}  // namespace kw::train
