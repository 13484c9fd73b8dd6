#include "search/form/forms.h"

#include <algorithm>

#include "program/rewrite/algebra.h"
#include "search/form/bias.h"
#include "search/form/layout.h"

namespace kw {
namespace {

bool same_results(const Program& a, const Program& b) {
  if (a.outputs.size() != b.outputs.size()) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const Value &x = a.values[a.outputs[i]], &y = b.values[b.outputs[i]];
    if (x.dtype != y.dtype || x.shape != y.shape || x.strides != y.strides) return false;
  }
  return true;
}

// Returns equal changes once, with their number.
std::vector<std::string> counted(const std::vector<std::string>& changes) {
  std::vector<std::string> out, seen;
  for (const std::string& change : changes) {
    if (std::count(seen.begin(), seen.end(), change) > 0) continue;
    seen.push_back(change);
    const auto times = std::count(changes.begin(), changes.end(), change);
    out.push_back(change + (times > 1 ? " (" + std::to_string(times) + " times)" : ""));
  }
  return out;
}

}  // namespace

std::vector<Form> forms_of(const Task& recorded, bool layouts, const RecordAgain& record_again) {
  std::vector<Form> bases = {{recorded, "", {}}};
  // Adds the form if there is a task, and it returns what the recorded program returns.
  const auto change = [&](Form& base, std::optional<Task> task, const std::string& name,
                          std::vector<std::string> changes) {
    if (!task || !same_results(task->forward, recorded.forward)) return false;
    base.task = std::move(*task);
    base.name += (base.name.empty() ? "" : ", ") + name;
    base.changes.insert(base.changes.end(), changes.begin(), changes.end());
    return true;
  };
  if (const auto simple = simplified(recorded)) {
    Form form = bases[0];
    if (change(form, record_again(simple->task), "simplified", counted(simple->changes))) {
      bases.push_back(std::move(form));
    }
  }
  std::vector<Form> out = {bases[0]};
  for (Form& base : bases) {
    // A form without biases can do all that it could with them.
    if (layouts) {
      change(base, biases_apart(base.task, record_again), "biases apart",
             {"biases of convolutions added apart"});
    }
    if (!base.name.empty()) out.push_back(base);
  }
  for (Form& base : bases) {
    if (layouts && change(base, channels_last(base.task, record_again), "channels last",
                          {"convolutions in channels-last layout"})) {
      out.push_back(std::move(base));
    }
  }
  return out;
}

}  // namespace kw
