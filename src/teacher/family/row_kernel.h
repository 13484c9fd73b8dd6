// One kernel over rows while it is written: a tile of BLOCK_M rows by BLOCK_N columns. A program
// either holds whole rows, or walks all or a part of them in blocks. One schedule uses it at a
// time; the graph and the rows outlive it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "teacher/emit/body.h"
#include "teacher/family/row_loops.h"

namespace kw::teacher {

class RowKernel {
 public:
  RowKernel(const Subject& subject, const RowLoops& rows, const std::string& how);

  void open_rows(const std::string& program);
  // Names the columns of the block that starts at `first`; those of whole rows if it is empty.
  void bind_columns(const std::string& first);
  void hold_rows();  // reductions and scans are of tiles that hold whole rows

  // Returns the value that a reduction or scan takes, with its neutral element past the row's end.
  std::string masked(int id);
  // Returns the tile of a scan: elements past the end cannot change those before it.
  std::string scan_operand(int id);

  // Walks in blocks over columns `first` to `last`, and computes the roots.
  void open_walk(const std::vector<int>& roots, const std::string& first, const std::string& last);
  void close_walk();
  // Accumulates some reductions (or totals of scans) in one walk: tiles in the order of `nodes`. A
  // sum that a sum of squares belongs to is accumulated as a mean.
  std::vector<std::string> accumulate(const std::vector<int>& nodes, const std::string& first,
                                      const std::string& last);
  // Makes the values of the reductions out of tiles, in the order of `nodes`.
  std::vector<std::string> finish(const std::vector<int>& nodes,
                                  const std::vector<std::string>& tiles);
  // Sets the number of elements accumulated in each column of tiles that hold sums as means.
  void count_lanes(const std::string& text) { lanes_ = text; }
  const std::string& lanes() const { return lanes_; }
  // Sets what a scan starts with: the total of the columns before the walk.
  void start_scan(int id, const std::string& text) { starts_[id] = text; }

  // Store results of reduced size, and those of full size in a walk.
  void store_results(const std::string& first, const std::string& last);

  std::vector<int> reductions(int level) const;

  const Subject& subject_;
  const RowLoops& rows_;
  const Graph& graph_;
  KernelText kernel_;
  Body body_;
  std::string n_rows_, n_cols_, wide_;

 private:
  void hoist(int id);
  void find_scans(int id, std::set<int>& out) const;
  std::string carried_scan(int id);
  void accumulate_located(int best, const std::string& value, int first,
                          const std::string& position);

  void accumulate_moments(int sum, const std::string& mean, const std::string& squares);

  std::map<int, std::string> starts_, carries_;
  std::string lanes_;
};

}  // namespace kw::teacher
