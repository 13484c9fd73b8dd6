#include "teacher/teacher.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "teacher/decomposition.h"
#include "teacher/graph/parts.h"
#include "teacher/module_text.h"
#include "teacher/plan.h"
#include "teacher/schedule/schedule.h"

namespace kw {
namespace teacher {
namespace {

// Arguments that `written` overwrites with its own stores.
void find_stored_in_place(const Graph& graph, const Part& part, const Choice& choice,
                          Written& written) {
  if (choice.family != "pointwise" && choice.family != "reduction") return;
  for (const Output& output : part.graph.outputs) {
    if (stored_in_place(graph, output)) written.in_place.insert(output.name);
  }
}

// Returns the decomposition whose next proposal is expected to be fastest, null at the end of all.
// Estimates are rough, so the first proposal of each that may well win comes before further ones of
// the others.
Decomposition* next_of(std::vector<Decomposition>& ways) {
  Decomposition* best = nullptr;
  for (Decomposition& way : ways) {
    if (way.next == way.main->choices.size()) continue;
    if (!best || way.seconds() < best->seconds()) best = &way;
  }
  if (!best || best->next == 0) return best;
  for (Decomposition& way : ways) {
    if (way.next == 0 && way.seconds() < 1.2 * best->seconds()) return &way;
  }
  return best;
}

std::vector<Proposal> write(const Task& task, const DeviceProfile& profile, int count,
                            const Knowledge& known, const TeacherOptions& options, uint64_t seed,
                            std::chrono::steady_clock::time_point deadline) {
  std::vector<Decomposition> ways =
      decompositions_of(task, profile, known, options.whole, deadline);
  for (Decomposition& way : ways) explore(way.main->choices, count, options.explore, seed);
  std::vector<Proposal> out;
  std::set<std::string> written_before;
  while (static_cast<int>(out.size()) < count) {
    Decomposition* best = next_of(ways);
    if (!best) break;
    Proposal proposal;
    std::vector<Written> written;
    if (options.first_name) proposal.plan = stored_text(*best);
    for (const auto& part : best->parts) {
      const Choice& own = best->choice_of(*part);
      written.push_back(own.write());
      find_stored_in_place(best->graph, *part, own, written.back());
      written.back().memory = memory_texts(part->graph, written.back().in_place);
      proposal.plan +=
          plan_text(*part, own, written.back().kernels.size(), options.first_name.has_value());
    }
    if (options.first_name) name_kernels(*options.first_name, written);
    const Choice& choice = best->main->choices[best->next];
    proposal.model_seconds = best->seconds();
    proposal.family = choice.family;
    proposal.source = module_text(task, best->graph, written);
    proposal.schedule = schedule_to_json(choice, profile);
    proposal.schedule["parts"] = best->parts.size();
    proposal.schedule["memory_seconds"] =
        static_cast<double>(best->bytes) / profile.bytes_per_second;
    if (written_before.insert(proposal.source).second) out.push_back(std::move(proposal));
    ++best->next;
  }
  return out;
}

std::string refusal_of(const Task& task, const DeviceProfile& profile,
                       const TeacherOptions& options) {
  try {
    const auto soon = std::chrono::steady_clock::now();  // the first way that is found will do
    write(task, profile, 1, {}, options, 0, soon);
    return "";
  } catch (const Refusal& refused) {
    return refused.reason;
  }
}

class Teacher : public Policy {
 public:
  explicit Teacher(const TeacherOptions& options)
      : options_(options), known_{options.schedules, options.memory, options.first_name} {}
  std::string name() const override { return "teacher"; }
  std::string fingerprint() const override { return known_.table.fingerprint(); }
  std::string refusal(const Task& task, const DeviceProfile& profile) override {
    return refusal_of(task, profile, options_);
  }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed,
                                std::chrono::steady_clock::time_point deadline) override {
    try {
      return write(task, profile, count, known_, options_, seed, deadline);
    } catch (const Refusal&) {
      return {};
    }
  }

  void learn(const std::vector<std::pair<Json, double>>& measured) override {
    if (!known_.memory || measured.empty()) return;
    double least = measured.front().second;
    for (const auto& [schedule, seconds] : measured) least = std::min(least, seconds);
    std::map<std::pair<std::string, std::string>, std::vector<FastSchedule>> found;
    for (const auto& [schedule, seconds] : measured) {
      if (!schedule.is_object()) continue;      // of another policy
      if (schedule.at("parts") != 1) continue;  // the time is of several kernels
      found[{schedule.at("family"), schedule.at("class")}].push_back(
          {schedule.at("name"), seconds / least});
    }
    for (const auto& [key, list] : found) known_.memory->learn(key.first, key.second, list);
  }

 private:
  const TeacherOptions options_;
  const Knowledge known_;
};

}  // namespace

std::string refusal(const Task& task, const DeviceProfile& profile) {
  return refusal_of(task, profile, {});
}

}  // namespace teacher

std::unique_ptr<Policy> make_teacher(const TeacherOptions& options) {
  return std::make_unique<teacher::Teacher>(options);
}

}  // namespace kw
