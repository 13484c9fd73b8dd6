// The one emitter of expressions. A family says how each loop becomes an index and which masks
// guard it. Body prints loads, pointwise expressions, casts and stores in those terms, each value
// once per scope. So the same code writes a prologue or an epilogue in every family.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "teacher/emit/kernel_text.h"
#include "teacher/graph/space.h"

namespace kw::teacher {

// How a loop appears in the kernel: the text of its index, and the tile dimensions it runs along as
// bits of `dims` (0 for a scalar index).
struct Index {
  std::string text;
  unsigned dims = 0;
};

class Body {
 public:
  Body(const Graph& graph, const AccessTable& table, const Program& program, KernelText& kernel)
      : graph_(graph), table_(table), program_(program), kernel_(kernel) {}

  // Masks of the tile dimensions; an empty text means that the dimension needs none.
  void set_mask(int dim, const std::string& text) { masks_[dim] = text; }
  void bind(const Loop& loop, const Index& index);
  // Names the index of each of `loops` out of one flat index over all of them (row-major).
  void bind_flat(const std::vector<Loop>& loops, const Index& flat, const std::string& hint);
  // Accesses that walk all bound loops contiguously use this index.
  void bind_contiguous(const std::vector<Loop>& loops, const Index& flat);

  // Values of nodes and bound loops live in scopes; closing one forgets those made in it.
  void open_scope() { scopes_.push_back({{}, loops_.size()}); }
  void close_scope();
  void assign(int node, const std::string& text) { scopes_.back().values[node] = text; }
  bool known(int node) const;

  // Returns the text of the node's value (a variable or a literal), and prints what it still needs.
  std::string value(int node);
  // Returns the same in the node's type in memory (operands of a dot).
  std::string stored_value(int node, DType dtype);
  void store(int output);
  // Prints a reduction whose value is used; without this function, such a use is a fault.
  std::function<std::string(int)> on_reduce;
  // Does the same for a scan, and returns the variable that holds it.
  std::function<std::string(int)> on_scan;
  // The index of a store that varies with no loop, which must still be a block.
  std::string unit_index;
  // Programs along these dimensions of a tile all compute what does not vary with them. Only the
  // program for which the condition holds may overwrite an argument, which the others still read.
  struct Repeated {
    unsigned along = 0;
    std::string condition;  // of one of them
  };
  Repeated repeated;
  std::string load_options;  // further arguments of tl.load, ", eviction_policy=..."

 private:
  struct Bound {
    Loop loop;
    Index index;
  };
  struct Scope {
    std::map<int, std::string> values;
    size_t loops = 0;  // bound before it
  };
  std::string mask(unsigned dims) const;
  std::string address(const Access& access, const std::string& prefix, unsigned* dims);
  std::string load(int node, bool raw);
  unsigned dims_of(int node) const;  // tile dimensions that the node's value spans
  std::string widening(int condition, unsigned dims) const;
  std::string operand(int node, DType type);
  std::string pointwise(const Node& node);
  std::string folded(const Node& node);

  const Graph& graph_;
  const AccessTable& table_;
  const Program& program_;
  KernelText& kernel_;
  std::vector<Bound> loops_;
  std::vector<Loop> contiguous_;
  Index contiguous_index_;
  std::map<int, std::string> masks_;
  std::vector<Scope> scopes_ = {{}};
};

}  // namespace kw::teacher
