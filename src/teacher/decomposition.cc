#include "teacher/decomposition.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>

#include "teacher/family/two_stages.h"
#include "teacher/graph/extents.h"
#include "teacher/graph/parts.h"
#include "teacher/graph/rows_apart.h"
#include "teacher/lower/lowering.h"
#include "teacher/module_text.h"

namespace kw::teacher {
namespace {

using Parts = std::vector<std::unique_ptr<Part>>;

// The first value of the fragment that a part stores.
ValueId first_of(const Part& part) {
  ValueId out = std::numeric_limits<ValueId>::max();
  for (const Output& output : part.graph.outputs) {
    if (output.holds >= 0) out = std::min(out, output.holds);
  }
  return out;
}

// Whether `part` loads what `other` stores.
bool reads(const Part& part, const Part& other) {
  return std::ranges::any_of(part.graph.nodes, [&](const Node& node) {
    return node.kind == NodeKind::kLoad && node.input >= part.graph.inputs &&
           std::ranges::any_of(other.graph.outputs,
                               [&](const Output& output) { return output.target == node.input; });
  });
}

// In the order of the fragment's steps, as far as parts do not read each other's results.
Parts in_order_of_steps(Parts parts) {
  Parts out;
  while (!parts.empty()) {
    auto next = parts.end();
    for (auto part = parts.begin(); part != parts.end(); ++part) {
      const bool ready = std::ranges::none_of(
          parts, [&](const auto& other) { return other != *part && reads(**part, *other); });
      if (ready && (next == parts.end() || first_of(**part) < first_of(**next))) next = part;
    }
    if (next == parts.end()) throw std::logic_error("parts read each other");
    out.push_back(std::move(*next));
    parts.erase(next);
  }
  return out;
}

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
  return in_order_of_steps(std::move(out));
}

// Rows of products by their width in a tile, for those that are wider.
constexpr int64_t kTileColumns[] = {128, 256};

// Results of steps that later ones read, the largest first; views are what they are views of.
std::vector<ValueId> passed_on(const Program& program) {
  std::set<ValueId> read;
  std::vector<ValueId> out;
  for (size_t i = program.steps.size(); i-- > 0;) {
    const auto* call = std::get_if<AtenCall>(&program.steps[i]);
    if (!call) return {};
    std::set<int> storages;  // that it reads
    Step step = *call;
    const std::set<ValueId> results(call->results.begin(), call->results.end());
    std::set<ValueId> operands;
    for_each_value(step, [&](ValueId& id) {
      if (!results.count(id)) operands.insert(id);
    });
    for (ValueId id : operands) storages.insert(program.values[id].storage);
    for (ValueId id : call->results) {
      if (id < 0 || !read.count(id)) continue;
      const bool view = call->mutated.empty() && storages.count(program.values[id].storage);
      if (!view) out.push_back(id);
    }
    read.insert(operands.begin(), operands.end());
  }
  std::stable_sort(out.begin(), out.end(), [&](ValueId a, ValueId b) {
    return program.values[a].bytes() > program.values[b].bytes();
  });
  return out;
}

// Refusal where not even a single step after another can be written.
Decomposition with_stored_values(const Task& task, const DeviceProfile& profile,
                                 const Knowledge& known,
                                 std::chrono::steady_clock::time_point deadline) {
  const std::vector<ValueId> values = passed_on(task.forward);
  Stored stored{.reductions = false, .values = {values.begin(), values.end()}};
  Decomposition best(lower(task, stored), task, profile, known);
  for (ValueId id : values) {
    if (std::chrono::steady_clock::now() > deadline) break;
    stored.values.erase(id);
    try {
      Decomposition found(lower(task, stored), task, profile, known);
      if (found.seconds() < best.seconds()) {
        best = std::move(found);
        continue;
      }
    } catch (const Refusal&) {  // it has to be stored
    }
    stored.values.insert(id);
  }
  return best;
}

Graph named(const Task& task, const Knowledge& known, Graph graph) {
  if (known.first_name) name_values(task.forward, *known.first_name, graph);
  return graph;
}

Graph with_sizes_nearby(Graph part) {
  name_sizes_nearby(part);
  return part;
}

std::string computed(const Task& task, const Knowledge& known, const Graph& graph) {
  return known.first_name ? value_list(task.forward, graph, *known.first_name)
                          : operator_list(task.forward, graph);
}

}  // namespace

Part::Part(Graph g, const Task& task, const DeviceProfile& profile, const Knowledge& known)
    : graph(with_sizes_nearby(std::move(g))),
      table(access_table(graph, graph.program)),
      subject{graph, table, graph.program, profile, computed(task, known, graph)} {
  for (const auto family : {pointwise_choices, reduction_choices, matmul_choices,
                            convolution_choices, stencil_choices}) {
    std::vector<Choice> more = family(subject);
    choices.insert(choices.end(), more.begin(), more.end());
  }
  rank(choices, known, profile);
}

Decomposition::Decomposition(Graph g, const Task& task, const DeviceProfile& profile,
                             const Knowledge& known)
    : graph(named(task, known, std::move(g))),
      parts(parts_of(graph, task, profile, known)),
      bytes(access_table(graph, graph.program).bytes()) {
  if (parts.empty()) throw Refusal{"no results"};
  main = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
           return a->choices.front().seconds < b->choices.front().seconds;
         })->get();
}

const Choice& Decomposition::choice_of(const Part& part) const {
  if (&part == main) return part.choices[next];
  // rank() has put the best exact one behind a first that is not.
  const bool exact = next > 0 && main->choices[next].precision != "tf32" &&
                     part.choices[0].precision == "tf32" && part.choices.size() > 1;
  return part.choices[exact ? 1 : 0];
}

double Decomposition::seconds() const {
  double out = 0;
  for (const auto& part : parts) out += choice_of(*part).seconds;
  return out;
}

std::vector<Decomposition> decompositions_of(const Task& task, const DeviceProfile& profile,
                                             const Knowledge& known, bool whole,
                                             std::chrono::steady_clock::time_point deadline) {
  std::vector<Decomposition> out;
  auto add = [&](Graph graph) {
    try {
      out.emplace_back(std::move(graph), task, profile, known);
    } catch (const Refusal&) {  // another may do
    }
  };
  std::optional<Refusal> refused;
  try {
    const Graph graph = lower(task);
    add(graph);
    if (auto apart = rows_apart(graph)) add(std::move(*apart));
    for (const int64_t columns : kTileColumns) {
      auto staged = in_two_stages(graph, columns);
      if (staged && (out.empty() || staged->axes.size(staged->part) > 1)) add(std::move(*staged));
    }
    if (out.empty()) out.emplace_back(lower(task, {.reductions = true}), task, profile, known);
  } catch (const Refusal& reason) {
    refused = reason;
  }
  try {
    if (whole) out.push_back(with_stored_values(task, profile, known, deadline));
  } catch (const Refusal& reason) {
    refused = reason;  // of a step by itself
  }
  if (out.empty()) throw *refused;
  return out;
}

}  // namespace kw::teacher
