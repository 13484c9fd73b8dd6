// Rebuilds a graph node by node and puts some values in scratch memory between kernels on the way.
// The old graph outlives the copy. One thread uses it.
#pragma once

#include <string>
#include <vector>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

class GraphCopy {
 public:
  explicit GraphCopy(const Graph& old);

  // Appends a node whose operands are new numbers; the axes it varies with follow from them.
  int add(Node node);
  // Copies an old node, whose operands have been copied.
  Node copied(Node node) const;
  // Makes `id` the copy of the next old node.
  void next(int id) { copies_.push_back(id); }
  void replace(int old, int id) { copies_[old] = id; }  // in outputs, from here on
  int operator[](int old) const { return copies_[old]; }

  // Returns a pointwise node, not added yet, whose operands and value are of `dtype`.
  static Node pointwise(const std::string& name, const std::string& expression,
                        std::vector<int> operands, DType dtype);

  // Stores the value in scratch memory and returns the load that reads it again. Among the axes
  // that it varies with, `outer` (-1: none) is the outermost in memory.
  int through_memory(int id, AxisId outer = -1);

  // Returns the copy with the outputs of the old graph and those in scratch memory, without dead
  // nodes.
  Graph finished() const;

  Graph out;  // nodes so far; axes may be added

 private:
  const Graph& old_;
  std::vector<int> copies_;  // by old number
  std::vector<Output> scratch_;
};

}  // namespace kw::teacher
