#include "policy/teacher/teacher.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "policy/teacher/family.h"
#include "policy/teacher/lowering.h"
#include "policy/teacher/module_text.h"
#include "policy/teacher/parts.h"
#include "policy/teacher/ranking.h"
#include "policy/teacher/rows_apart.h"
#include "policy/teacher/schedule.h"
#include "policy/teacher/two_stages.h"

namespace kw {
namespace teacher {
namespace {

std::string plan_text(const Graph& graph, const Choice& choice, const Subject& subject,
                      size_t kernels) {
  std::string line = "values: " + subject.operators + " -> ";
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    line += (i ? ", " : "") + graph.outputs[i].name;
  }
  line += "; family: " + choice.family + "; tiling: " + choice.tiling +
          "; warps: " + std::to_string(choice.warps);
  if (choice.stages > 0) line += "; stages: " + std::to_string(choice.stages);
  if (kernels > 1) line += "; kernels: " + std::to_string(kernels);
  return line + "\n";
}

// Graphs that are written one after another, each by a family of its own. They mostly are one.
struct Part {
  Part(Graph g, const Task& task, const DeviceProfile& profile, const Knowledge& known)
      : graph(std::move(g)),
        table(access_table(graph, graph.program)),
        subject{graph, table, graph.program, profile, operator_list(task.forward)} {
    for (const auto family : {pointwise_choices, reduction_choices, matmul_choices,
                              convolution_choices, stencil_choices}) {
      std::vector<Choice> more = family(subject);
      choices.insert(choices.end(), more.begin(), more.end());
    }
    rank(choices, known, profile);
  }
  Part(const Part&) = delete;  // `subject` points into it, and `choices` at `subject`

  const Graph graph;
  const AccessTable table;
  const Subject subject;
  std::vector<Choice> choices;
};

using Parts = std::vector<std::unique_ptr<Part>>;

Parts parts_of(const Graph& graph, const Task& task, const DeviceProfile& profile,
               const Knowledge& known) {
  Parts out;
  auto add = [&](Graph part) {
    auto made = std::make_unique<Part>(std::move(part), task, profile, known);
    if (made->choices.empty()) return false;
    out.push_back(std::move(made));
    return true;
  };
  for (const Graph& level : levels(graph)) {
    if (add(level)) continue;
    for (const Graph& part : independent_parts(level)) {
      if (add(part)) continue;
      // Computing something twice is better than nothing.
      for (size_t i = 0; i < part.outputs.size(); ++i) {
        if (part.outputs.size() == 1 || !add(with_outputs(part, {i}))) {
          throw Refusal{"no family has this loop structure"};
        }
      }
    }
  }
  return out;
}

// Arguments that `written` overwrites with its own stores.
void find_stored_in_place(const Graph& graph, const Part& part, const Choice& choice,
                          Written& written) {
  if (choice.family != "pointwise" && choice.family != "reduction") return;
  for (const Output& output : part.graph.outputs) {
    if (stored_in_place(graph, output)) written.in_place.insert(output.name);
  }
}

// One way to take a fragment apart. Its most expensive part is written in several ways, the others
// in their best.
struct Decomposition {
  Graph graph;
  Parts parts;
  Part* main = nullptr;
  size_t next = 0;    // of the main part's choices
  int64_t bytes = 0;  // that cross the memory bus at least

  Decomposition(Graph g, const Task& task, const DeviceProfile& profile, const Knowledge& known)
      : graph(std::move(g)),
        parts(parts_of(graph, task, profile, known)),
        bytes(access_table(graph, graph.program).bytes()) {
    main = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
             return a->choices.front().seconds < b->choices.front().seconds;
           })->get();
  }
  const Choice& choice_of(const Part& part, size_t i) const {
    return part.choices[&part == main ? i : 0];
  }
  double seconds() const {  // of its next proposal
    double out = 0;
    for (const auto& part : parts) out += choice_of(*part, next).seconds;
    return out;
  }
};

// Rows of products by their width in a tile, for those that are wider.
constexpr int64_t kTileColumns[] = {128, 256};

std::vector<Decomposition> decompositions_of(const Task& task, const DeviceProfile& profile,
                                             const Knowledge& known) {
  std::vector<Decomposition> out;
  auto add = [&](Graph graph) {
    try {
      out.emplace_back(std::move(graph), task, profile, known);
    } catch (const Refusal&) {  // another may do
    }
  };
  const Graph graph = lower(task);
  add(graph);
  if (auto apart = rows_apart(graph)) add(std::move(*apart));
  for (const int64_t columns : kTileColumns) {
    auto staged = in_two_stages(graph, columns);
    if (staged && (out.empty() || staged->axes.size(staged->part) > 1)) add(std::move(*staged));
  }
  if (out.empty()) out.emplace_back(lower(task, true), task, profile, known);
  return out;
}

// The one whose next proposal is expected to be fastest, null at the end of all. The first of each
// that may well win stands before further ones of the others, as estimates are rough.
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
                            const Knowledge& known = {}, const TeacherOptions& options = {},
                            uint64_t seed = 0) {
  std::vector<Decomposition> ways = decompositions_of(task, profile, known);
  for (Decomposition& way : ways) explore(way.main->choices, count, options.explore, seed);
  std::vector<Proposal> out;
  std::set<std::string> written_before;
  while (static_cast<int>(out.size()) < count) {
    Decomposition* best = next_of(ways);
    if (!best) break;
    Proposal proposal;
    std::vector<Written> written;
    size_t kernels = 0;
    for (const auto& part : best->parts) {
      const Choice& own = best->choice_of(*part, best->next);
      written.push_back(own.write());
      find_stored_in_place(best->graph, *part, own, written.back());
      kernels += written.back().kernels.size();
    }
    const Choice& choice = best->main->choices[best->next];
    proposal.model_seconds = best->seconds();
    proposal.family = choice.family;
    proposal.plan = plan_text(best->graph, choice, best->main->subject, kernels);
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

class Teacher : public Policy {
 public:
  explicit Teacher(const TeacherOptions& options)
      : options_(options), known_{options.schedules, options.memory} {}
  std::string name() const override { return "teacher"; }
  std::string fingerprint() const override { return known_.table.fingerprint(); }
  std::string refusal(const Task& task, const DeviceProfile& profile) override {
    return teacher::refusal(task, profile);
  }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed,
                                std::chrono::steady_clock::time_point /*deadline*/) override {
    try {
      return write(task, profile, count, known_, options_, seed);
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
  try {
    write(task, profile, 1);
    return "";
  } catch (const Refusal& refused) {
    return refused.reason;
  }
}

}  // namespace teacher

std::unique_ptr<Policy> make_teacher(const TeacherOptions& options) {
  return std::make_unique<teacher::Teacher>(options);
}

}  // namespace kw
