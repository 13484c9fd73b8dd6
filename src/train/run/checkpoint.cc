#include "train/run/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/safetensors.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "checkpoint-";
constexpr const char* kState = "state.json";

std::optional<int64_t> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string digits = name.substr(std::string(kPrefix).size());
  if (digits.empty() || digits.size() > 15 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoll(digits);
}

std::vector<int64_t> steps_in(const fs::path& run) {
  std::vector<int64_t> out;
  if (!fs::is_directory(run)) return out;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (const auto step = step_of(entry.path())) out.push_back(*step);
  }
  std::ranges::sort(out);
  return out;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!(out << text).flush()) throw EnvironmentError(path.string() + ": cannot be written");
}

// Throws InputError if parts of a checkpoint are missing: a disk or a person may have removed them.
void check_whole(const FoundCheckpoint& found) {
  if (!found.state.is_object()) throw InputError("state.json: is no state of a run");
  if (!fs::is_directory(found.folder / "model")) throw InputError("has no model");
  const SafetensorsFile moments(found.folder / "adam.safetensors");  // throws if it is cut off
}

}  // namespace

void write_checkpoint_of_run(const fs::path& run, int64_t step, const Transformer& model,
                             const std::string& tokenizer_json, const ParameterOptimizer& optimizer,
                             const Json& state, int keep) {
  const fs::path whole = run / (kPrefix + std::to_string(step));
  const fs::path half = run / ("." + whole.filename().string() + ".half");
  try {
    fs::create_directories(run);
    for (const auto& entry : fs::directory_iterator(run)) {  // left by a run that was killed
      const std::string name = entry.path().filename().string();
      if (name.starts_with("." + std::string(kPrefix)) && name.ends_with(".half")) {
        fs::remove_all(entry.path());
      }
    }
    fs::create_directories(half);
    optimizer.save_model(model, half / "model");
    write_text(half / "model" / "tokenizer.json", tokenizer_json);
    optimizer.save(half / "adam.safetensors");
    write_text(half / kState, state.dump(1) + "\n");
    ::sync();
    fs::remove_all(whole);
    fs::rename(half, whole);
    const std::vector<int64_t> steps = steps_in(run);
    for (size_t i = 0; i + static_cast<size_t>(keep) < steps.size(); ++i) {
      const fs::path older = run / (kPrefix + std::to_string(steps[i]));
      if (fs::exists(older / kState)) fs::remove_all(older);  // else it is none of ours
    }
  } catch (const fs::filesystem_error& error) {
    throw EnvironmentError(error.what());
  }
}

std::optional<FoundCheckpoint> last_checkpoint(const fs::path& run) {
  std::vector<int64_t> steps = steps_in(run);
  for (; !steps.empty(); steps.pop_back()) {
    FoundCheckpoint out;
    out.step = steps.back();
    out.folder = run / (kPrefix + std::to_string(out.step));
    try {
      out.state = parse_json(read_file(out.folder / kState), "state.json");
      check_whole(out);
      return out;
    } catch (const InputError& error) {
      if (steps.size() == 1) throw InputError(out.folder.string() + ": " + error.what());
    }
  }
  return std::nullopt;
}

}  // namespace kw::train
