#include "search/cover/fragments.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/operator.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

enum class Kind { kExcluded, kView, kComputing };

// Returns whether a step's result is what it overwrites: then there is no new value that could flow
// out of a fragment. Running statistics do not count: they are not the result of batch_norm.
bool returns_what_it_overwrites(const Program& program, const AtenCall& call) {
  for (ValueId written : call.mutated) {
    for (ValueId result : call.results) {
      if (result >= 0 && program.values[result].storage == program.values[written].storage) {
        return true;
      }
    }
  }
  return !call.mutated.empty() && call.results.empty();
}

Kind kind_of(const Program& program, const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  if (!call || returns_what_it_overwrites(program, *call)) return Kind::kExcluded;
  const OperatorRow* row = find_operator(call->op);
  if (!row) return Kind::kExcluded;
  switch (row->cls) {
    case OpClass::kView:
      return Kind::kView;
    case OpClass::kFactory:
    case OpClass::kRandom:
    case OpClass::kInit:
      return Kind::kExcluded;
    default:
      return Kind::kComputing;
  }
}

// Returns the producer and consumer steps of each step, by data.
struct Neighbours {
  std::vector<std::set<int>> producers, consumers;
};

Neighbours neighbours(const Program& program) {
  Neighbours out;
  out.producers.resize(program.steps.size());
  out.consumers.resize(program.steps.size());
  std::map<ValueId, int> maker;
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    Step step = program.steps[i];
    for_each_value(step, [&](ValueId& id) {
      if (auto it = maker.find(id); it != maker.end()) {
        out.producers[i].insert(it->second);
        out.consumers[it->second].insert(i);
      }
    });
    for (ValueId id : step_defines(step)) maker[id] = i;
  }
  return out;
}

bool any_inside(const std::set<int>& steps, const std::vector<int>& fragment) {
  return std::any_of(steps.begin(), steps.end(), [&](int s) {
    return std::binary_search(fragment.begin(), fragment.end(), s);
  });
}

}  // namespace

std::vector<std::vector<int>> enumerate_fragments(const Task& task, const FragmentLimits& limits) {
  const Program& forward = task.forward;
  const int count = static_cast<int>(forward.steps.size());
  std::vector<Kind> kinds;
  for (const Step& step : forward.steps) kinds.push_back(kind_of(forward, step));
  const Neighbours near = neighbours(forward);
  const auto dependencies = step_dependencies(forward, task.kernels);

  auto computing = [&](const std::vector<int>& fragment) {
    return std::count_if(fragment.begin(), fragment.end(),
                         [&](int i) { return kinds[i] == Kind::kComputing; });
  };
  auto offered = [&](const std::vector<int>& fragment) {
    for (int i : fragment) {
      if (kinds[i] != Kind::kView) continue;
      if (!any_inside(near.producers[i], fragment) || !any_inside(near.consumers[i], fragment)) {
        return false;
      }
    }
    return computing(fragment) > 0 && is_convex(dependencies, fragment);
  };

  // Goes breadth first by size: every connected set of n + 1 steps grows out of a set of n.
  std::vector<std::vector<int>> out;
  std::set<std::vector<int>> frontier;
  for (int i = 0; i < count; ++i) {
    if (kinds[i] != Kind::kExcluded) frontier.insert({i});
  }
  size_t seen = 0;
  while (!frontier.empty() && out.size() < static_cast<size_t>(limits.max_fragments)) {
    std::set<std::vector<int>> next;
    for (const std::vector<int>& fragment : frontier) {
      if (offered(fragment)) out.push_back(fragment);
      for (int i : fragment) {
        for (const auto* side : {&near.producers[i], &near.consumers[i]}) {
          for (int s : *side) {
            if (kinds[s] == Kind::kExcluded) continue;
            if (std::binary_search(fragment.begin(), fragment.end(), s)) continue;
            std::vector<int> grown = fragment;
            grown.insert(std::lower_bound(grown.begin(), grown.end(), s), s);
            if (computing(grown) <= limits.max_steps) next.insert(std::move(grown));
          }
        }
      }
    }
    // Sets that are not convex count too: they are what makes an enumeration explode.
    seen += next.size();
    if (seen > 8 * static_cast<size_t>(limits.max_fragments)) break;
    frontier = std::move(next);
  }
  if (out.size() > static_cast<size_t>(limits.max_fragments)) out.resize(limits.max_fragments);
  if (!limits.with_views) return out;

  // Adds a view before the fragment whose value nothing else reads, and a view after it that is the
  // only reader of a value.
  const std::set<ValueId> results(forward.outputs.begin(), forward.outputs.end());
  auto belongs = [&](int view, const std::vector<int>& fragment) {
    const auto reads_inside_alone = [&](int maker) {
      return std::ranges::none_of(step_defines(forward.steps[maker]),
                                  [&](ValueId id) { return results.contains(id); }) &&
             std::ranges::all_of(near.consumers[maker], [&](int s) {
               return s == view || std::ranges::binary_search(fragment, s);
             });
    };
    if (any_inside(near.consumers[view], fragment)) return reads_inside_alone(view);
    const std::set<int>& makers = near.producers[view];
    return any_inside(makers, fragment) && std::ranges::all_of(makers, reads_inside_alone);
  };
  std::set<std::vector<int>> known;
  std::vector<std::vector<int>> grown;
  for (std::vector<int>& fragment : out) {
    for (bool more = true; more;) {
      more = false;
      for (int i = 0; i < count; ++i) {
        if (kinds[i] != Kind::kView || std::ranges::binary_search(fragment, i)) continue;
        if (!belongs(i, fragment)) continue;
        std::vector<int> with = fragment;
        with.insert(std::ranges::lower_bound(with, i), i);
        if (!is_convex(dependencies, with)) continue;
        fragment = std::move(with);
        more = true;
      }
    }
    if (known.insert(fragment).second) grown.push_back(std::move(fragment));
  }
  return grown;
}

}  // namespace kw
