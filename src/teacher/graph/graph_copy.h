// A graph that is rebuilt node by node, with some values put in scratch memory between kernels on
// the way. The old graph outlives it; one thread.
#pragma once

#include <string>
#include <vector>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

class GraphCopy {
 public:
  explicit GraphCopy(const Graph& old);

  // Appends a node whose operands are new numbers; what it varies with follows from them.
  int add(Node node);
  // An old node whose operands have been copied.
  Node copied(Node node) const;
  // `id` is what stands for the next old node.
  void next(int id) { copies_.push_back(id); }
  void replace(int old, int id) { copies_[old] = id; }  // in outputs, from here on
  int operator[](int old) const { return copies_[old]; }

  // A pointwise node, not added yet, whose operands and value are of `dtype`.
  static Node pointwise(const std::string& name, const std::string& expression,
                        std::vector<int> operands, DType dtype);

  // The value, stored in scratch memory and read again: the load. Of axes that it varies with,
  // `outer` (-1: none) is the outermost in memory.
  int through_memory(int id, AxisId outer = -1);

  // With the outputs of the old graph, those that are scratch memory, and no dead nodes.
  Graph finished() const;

  Graph out;  // nodes so far; axes may be added

 private:
  const Graph& old_;
  std::vector<int> copies_;  // by old number
  std::vector<Output> scratch_;
};

}  // namespace kw::teacher
