// Graphs of kept loops by reduced loops: every reduction and every scan runs over the same leaves.
// This is what the row schedules know of such a graph, and how reductions and scans are written in
// Triton. Everything here is a plain value or a pure function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "teacher/family/family.h"

namespace kw::teacher {

struct RowLoops {
  Axes kept, reduced;
  std::vector<Loop> rows, cols;
  // Walks over a row that must follow one another. The level of a reduction is 1 + that of the
  // deepest reduction below; other nodes have the level of the deepest reduction below. A scan
  // needs no walk before the one that it is in...
  std::vector<int> level;
  int levels = 0;
  // ... unless several programs share the row: then it waits for the totals of the parts before.
  std::vector<int> stage;
  int stages = 0;
  // Reductions that find the first position of an extremum -> the reduction that finds the
  // extremum. One walk finds both.
  std::map<int, int> located;
  // Sums of squares of distances from the mean -> the sum that the mean is made of, likewise.
  std::map<int, int> moments;
  std::vector<int> full_outputs, kept_outputs;
  bool rows_inner = false;  // memory is contiguous along rows rather than along columns
  int live_tiles = 1;       // full-size values alive at once, roughly
  int scans = 0;

  // Returns the reduction in whose walk this one is found; -1 if it has a separate walk.
  int found_with(int reduction) const;
};

// Return reductions that are found in the walk of another one, with that one: RowLoops::located and
// RowLoops::moments.
std::map<int, int> located_reductions(const Graph& graph);
std::map<int, int> moment_reductions(const Graph& graph);

// Fills `out`; returns false if the graph is not of this form.
bool analyse_rows(const Subject& subject, RowLoops* out);

struct Tile {
  int64_t m = 1, n = 1;
  int warps = 4;
};

// Return reductions and scans as text. `kernel` receives the functions that some of them call.
std::string neutral(const Node& node);
std::string combined(const Node& node, const std::string& a, const std::string& b,
                     KernelText& kernel);
std::string reduced_tile(const Node& node, const std::string& tile, KernelText& kernel);
std::string scanned_tile(const Node& node, const std::string& tile, KernelText& kernel);

// Writes the schedule for few long rows, in which programs share a row (split_rows.cc).
Written write_split(const Subject& subject, const RowLoops& rows, const Tile& tile, int64_t splits);

}  // namespace kw::teacher
