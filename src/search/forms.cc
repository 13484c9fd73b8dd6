#include "search/forms.h"

#include <algorithm>

#include "program/algebra.h"
#include "search/layout.h"

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

// Equal changes once, with how often.
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
  std::vector<Form> out = {{recorded, "", {}}};
  if (const auto simple = simplified(recorded)) {
    auto task = record_again(simple->task);
    if (task && same_results(task->forward, recorded.forward)) {
      out.push_back({std::move(*task), "simplified", counted(simple->changes)});
    }
  }
  for (size_t i = 0, count = out.size(); layouts && i < count; ++i) {
    auto task = channels_last(out[i].task, record_again);
    if (!task) continue;
    Form form{std::move(*task), out[i].name, out[i].changes};
    form.name += form.name.empty() ? "channels last" : ", channels last";
    form.changes.push_back("convolutions in channels-last layout");
    out.push_back(std::move(form));
  }
  return out;
}

}  // namespace kw
