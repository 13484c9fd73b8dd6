#include "policy/teacher/teacher.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "policy/teacher/family.h"
#include "policy/teacher/lowering.h"
#include "policy/teacher/module_text.h"

namespace kw {
namespace teacher {
namespace {

// "flat", "persistent", "BLOCK_M=128 BLOCK_N=128": schedules that differ in this differ in kind.
std::string kind(const Choice& choice) {
  if (choice.family == "matmul") return choice.tiling.substr(0, choice.tiling.find(" BLOCK_K"));
  return choice.tiling.substr(0, choice.tiling.find(','));
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
    line += (i ? ", out" : "out") + std::to_string(i);
  }
  line += "; family: " + choice.family + "; tiling: " + choice.tiling +
          "; warps: " + std::to_string(choice.warps);
  if (choice.stages > 0) line += "; stages: " + std::to_string(choice.stages);
  if (kernels > 1) line += "; kernels: " + std::to_string(kernels);
  return line + "\n";
}

std::vector<Proposal> write(const Task& task, const DeviceProfile& profile, int count) {
  const Graph graph = lower(task);
  const AccessTable table = access_table(graph, task.forward);
  const Subject subject{graph, table, task.forward, profile, operator_list(task.forward)};
  std::vector<Choice> choices;
  for (auto family : {pointwise_choices, reduction_choices, matmul_choices, convolution_choices,
                      stencil_choices}) {
    std::vector<Choice> more = family(subject);
    choices.insert(choices.end(), more.begin(), more.end());
  }
  if (choices.empty()) throw Refusal{"no family has this loop structure"};
  rank(choices);
  std::vector<Proposal> out;
  std::set<std::string> written_before;
  for (const Choice& choice : choices) {
    if (static_cast<int>(out.size()) >= count) break;
    const Written written = choice.write();
    Proposal proposal;
    proposal.family = choice.family;
    proposal.plan = plan_text(graph, choice, subject, written.kernels.size());
    proposal.source = module_text(task, graph, written);
    proposal.model_seconds = choice.seconds;
    if (written_before.insert(proposal.source).second) out.push_back(std::move(proposal));
  }
  return out;
}

class Teacher : public Policy {
 public:
  std::string name() const override { return "teacher"; }
  std::string refusal(const Task& task, const DeviceProfile& profile) override {
    return teacher::refusal(task, profile);
  }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t /*seed*/,
                                std::chrono::steady_clock::time_point /*deadline*/) override {
    try {
      return write(task, profile, count);
    } catch (const Refusal&) {
      return {};
    }
  }
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

std::unique_ptr<Policy> make_teacher() { return std::make_unique<teacher::Teacher>(); }

}  // namespace kw
