#include "policy/teacher/teacher.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>

#include "policy/teacher/family.h"
#include "policy/teacher/lowering.h"
#include "policy/teacher/module_text.h"
#include "policy/teacher/parts.h"
#include "policy/teacher/schedule.h"

namespace kw {
namespace teacher {
namespace {

// "flat", "persistent", "BLOCK_M=128 BLOCK_N=128": schedules that differ in this differ in kind.
std::string kind(const Choice& choice) {
  if (choice.family == "matmul") return choice.tiling.substr(0, choice.tiling.find(" BLOCK_K"));
  return choice.tiling.substr(0, choice.tiling.find(','));
}

// Of `choices`, best first: the first ones, then some drawn from the rest, `count` in all. What the
// model finds hopeless is not drawn.
void mix(std::vector<Choice>& choices, int count, const TeacherOptions& options, uint64_t seed) {
  constexpr double kHopeless = 10;
  const auto drawn = static_cast<size_t>(std::lround(options.explore * count));
  const size_t kept = static_cast<size_t>(count) - drawn;
  if (drawn == 0 || choices.size() <= kept) return;
  const double limit = kHopeless * choices.front().seconds;
  std::vector<Choice> rest(choices.begin() + static_cast<long>(kept), choices.end());
  choices.resize(kept);
  std::erase_if(rest, [&](const Choice& choice) { return choice.seconds > limit; });
  std::mt19937_64 random(seed);
  std::shuffle(rest.begin(), rest.end(), random);
  choices.insert(choices.end(), rest.begin(), rest.end());
}

// Best first. Estimates within a few percent are equal: there the fewer programs win, which is also
// what an interpreter likes. The best of each kind that may well win stands before variations of
// the first, as the model is a rough one and each proposal costs a measurement.
void rank(std::vector<Choice>& choices) {
  auto bucket = [](const Choice& c) { return std::llround(std::log(c.seconds) / std::log(1.04)); };
  std::stable_sort(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
    const auto ka = bucket(a), kb = bucket(b);
    return ka != kb ? ka < kb : a.programs < b.programs;
  });
  std::set<std::string> kinds;
  std::vector<Choice> first, rest;
  for (Choice& choice : choices) {
    const bool leads =
        (choice.seconds < 1.5 * choices.front().seconds && kinds.insert(kind(choice)).second) ||
        (!choice.precision.empty() && kinds.insert(choice.precision).second);
    (leads ? first : rest).push_back(choice);
  }
  choices = std::move(first);
  choices.insert(choices.end(), rest.begin(), rest.end());
}

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
  Part(Graph g, const Task& task, const DeviceProfile& profile)
      : graph(std::move(g)),
        table(access_table(graph, graph.program)),
        subject{graph, table, graph.program, profile, operator_list(task.forward)} {
    for (auto family : {pointwise_choices, reduction_choices, matmul_choices, convolution_choices,
                        stencil_choices}) {
      std::vector<Choice> more = family(subject);
      choices.insert(choices.end(), more.begin(), more.end());
    }
    rank(choices);
  }
  Part(const Part&) = delete;  // `subject` points into it, and `choices` at `subject`

  const Graph graph;
  const AccessTable table;
  const Subject subject;
  std::vector<Choice> choices;
};

using Parts = std::vector<std::unique_ptr<Part>>;

Parts parts_of(const Graph& graph, const Task& task, const DeviceProfile& profile) {
  Parts out;
  for (Graph& level : levels(graph)) {
    auto whole = std::make_unique<Part>(level, task, profile);
    if (!whole->choices.empty()) {
      out.push_back(std::move(whole));
      continue;
    }
    for (Graph& part : independent_parts(level)) {
      out.push_back(std::make_unique<Part>(std::move(part), task, profile));
      if (out.back()->choices.empty()) throw Refusal{"no family has this loop structure"};
    }
  }
  return out;
}

// The first of a part's choices that needs no scratch memory, which has the same names in all.
const Choice& simple_choice(const Part& part) {
  for (const Choice& choice : part.choices) {
    if (!choice.tiling.starts_with("split")) return choice;
  }
  throw Refusal{"no family has this loop structure"};
}

// Arguments that `written` overwrites with its own stores.
void find_stored_in_place(const Graph& graph, const Part& part, const Choice& choice,
                          Written& written) {
  if (choice.family != "pointwise" && choice.family != "reduction") return;
  for (const Output& output : part.graph.outputs) {
    if (stored_in_place(graph, output)) written.in_place.insert(output.name);
  }
}

std::vector<Proposal> write(const Task& task, const DeviceProfile& profile, int count,
                            const TeacherOptions& options = {}, uint64_t seed = 0) {
  const Graph graph = lower(task);
  const Parts parts = parts_of(graph, task, profile);
  Part& main = **std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a->choices.front().seconds < b->choices.front().seconds;
  });
  mix(main.choices, count, options, seed);
  const auto bytes = static_cast<double>(access_table(graph, graph.program).bytes());
  const double memory_seconds = bytes / profile.bytes_per_second;
  std::vector<Proposal> out;
  std::set<std::string> written_before;
  for (const Choice& choice : main.choices) {
    if (static_cast<int>(out.size()) >= count) break;
    Proposal proposal;
    std::vector<Written> written;
    size_t kernels = 0;
    for (const auto& part : parts) {
      const Choice& own = part.get() == &main ? choice : simple_choice(*part);
      written.push_back(own.write());
      find_stored_in_place(graph, *part, own, written.back());
      kernels += written.back().kernels.size();
      proposal.model_seconds += own.seconds;
    }
    proposal.family = choice.family;
    proposal.plan = plan_text(graph, choice, main.subject, kernels);
    proposal.source = module_text(task, graph, written);
    proposal.schedule = schedule_to_json(choice, profile);
    proposal.schedule["parts"] = parts.size();
    proposal.schedule["memory_seconds"] = memory_seconds;
    if (written_before.insert(proposal.source).second) out.push_back(std::move(proposal));
  }
  return out;
}

class Teacher : public Policy {
 public:
  explicit Teacher(const TeacherOptions& options) : options_(options) {}
  std::string name() const override { return "teacher"; }
  std::string refusal(const Task& task, const DeviceProfile& profile) override {
    return teacher::refusal(task, profile);
  }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed,
                                std::chrono::steady_clock::time_point /*deadline*/) override {
    try {
      return write(task, profile, count, options_, seed);
    } catch (const Refusal&) {
      return {};
    }
  }

 private:
  const TeacherOptions options_;
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
