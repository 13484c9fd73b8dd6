// A fragment as the graphs that its kernels are written from, one after another, each by one
// family. Mostly there is one graph.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "teacher/family/family.h"
#include "teacher/schedule/ranking.h"

namespace kw::teacher {

struct Part {
  Part(Graph graph, const Task& task, const DeviceProfile& profile, const Knowledge& known);
  Part(const Part&) = delete;  // `subject` points into it, and `choices` at `subject`

  const Graph graph;
  const AccessTable table;
  const Subject subject;
  std::vector<Choice> choices;  // the best first
};

// One way to take a fragment apart. Its most expensive part is written in several ways, the others
// in their best. If that is inexact and the main part's is not, they are written in their best
// exact one.
struct Decomposition {
  // Throws Refusal if no family writes some part.
  Decomposition(Graph graph, const Task& task, const DeviceProfile& profile,
                const Knowledge& known);

  Graph graph;
  std::vector<std::unique_ptr<Part>> parts;
  Part* main = nullptr;
  size_t next = 0;    // of the main part's choices
  int64_t bytes = 0;  // that cross the memory bus at least

  const Choice& choice_of(const Part& part) const;  // of its next proposal
  double seconds() const;                           // likewise
};

// Returns at least one decomposition; Refusal if there is none. With `whole` the task is a program
// rather than a fragment that a search has chosen. Then one more decomposition stores values
// between steps, so that a program can be written if its steps can, unless its results share
// memory. Values are decided on one after another, the largest first, by the estimates of the
// result. After the deadline all others are stored.
std::vector<Decomposition> decompositions_of(const Task& task, const DeviceProfile& profile,
                                             const Knowledge& known, bool whole,
                                             std::chrono::steady_clock::time_point deadline);

}  // namespace kw::teacher
