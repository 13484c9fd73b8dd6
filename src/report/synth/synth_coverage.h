// What a file of synthesised tasks covers (docs/synthesis.md, "What a file covers"): counters over
// its rows, in one pass. Memory grows with the structures that differ, not with the rows.
//
// One thread. Names of dtypes, splits, flaws, structures and ids are text from the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/json.h"

namespace kw {

using Histogram = std::map<int64_t, int64_t>;  // value or bucket: how often

int64_t total(const Histogram& histogram);
int64_t total(const std::map<std::string, int64_t>& counts);
// The least value that half of the counts are at or below; 0 of none.
int64_t median(const Histogram& histogram);

// Counts of one operator.
struct OperatorCounts {
  int64_t steps = 0;
  int64_t programs = 0;
  int64_t examined = 0;                     // programs, taken or not; 0 without hygiene
  std::map<std::string, int64_t> rejected;  // of those, by flaw
};

// A structure that more than one row has.
struct RepeatedStructure {
  std::string structure;
  int64_t rows = 0;
  std::string id;                 // of the second of them
  std::vector<size_t> operators;  // places in synth_operators()
};

// Parts of a program's window in Coverage::position: twentieths, from the lower end to the upper.
constexpr int kWindowParts = 20;

// The bucket of programs that only move data.
constexpr int64_t kNoFlops = -1;

class SynthCoverage {
 public:
  SynthCoverage();

  // InputError with the row's path where it is no row. The counters are of no use after that.
  void add(const JsonReader& row);

  int64_t programs = 0;
  Histogram levels;
  std::map<std::string, int64_t> dtypes, splits;  // "none": level 1 is in all splits

  std::vector<OperatorCounts> operators;    // by place in synth_operators()
  std::vector<std::vector<int64_t>> pairs;  // [producer][consumer]: reads of a result
  std::vector<std::vector<bool>> possible;  // pairs that some program has

  // Of programs, but for the three that say otherwise.
  Histogram depth;                        // steps of the longest chain
  Histogram reads;                        // of each step's result; none: an output
  Histogram inputs, parameters, outputs;  // tensors; buffers are parameters
  Histogram ranks, sizes;                 // of each tensor; of each of its dims: floor(log2)
  Histogram largest;                      // elements of the largest tensor: floor(log2)
  Histogram flops;                        // floor(log2), or kNoFlops
  // The place of each program's FLOPs in the window, by logarithm. -1 is below the window,
  // kWindowParts above it. Programs without FLOPs are left out.
  Histogram position;

  int64_t examined = 0;                     // programs of rows that were examined, taken or not
  std::map<std::string, int64_t> rejected;  // of those, by flaw

  // Returns how many operators the rows may use. It is CSP-DAG's, which come first, if no other
  // operator occurs, and all otherwise.
  size_t operators_meant() const;
  int64_t structures() const { return static_cast<int64_t>(rows_of_structure_.size()); }
  // Returns those with the most rows first.
  std::vector<RepeatedStructure> most_repeated(size_t most) const;

 private:
  struct Step;
  static std::vector<Step> read_steps(const JsonReader& row);
  void add_steps(const std::vector<Step>& steps);
  void add_tensors(const JsonReader& tensors, const std::vector<Step>& steps);
  void add_cost(const JsonReader& row);
  void add_structure(const JsonReader& row, const std::vector<Step>& steps);
  void add_examined(const JsonReader& row, const std::vector<Step>& steps);

  std::unordered_map<std::string, int64_t> rows_of_structure_;
  std::unordered_map<std::string, RepeatedStructure> repeated_;  // without `rows`
};

}  // namespace kw
