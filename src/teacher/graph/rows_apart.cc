#include "teacher/graph/rows_apart.h"

#include <map>
#include <vector>

#include "teacher/graph/graph_copy.h"

namespace kw::teacher {
namespace {

class RowsApart {
 public:
  explicit RowsApart(const Graph& graph) : old_(graph), copy_(graph) {}

  std::optional<Graph> run() {
    for (size_t i = 0; i < old_.nodes.size(); ++i) {
      const Node& node = old_.nodes[i];
      if (node.kind == NodeKind::kMatmul || node.kind == NodeKind::kConvolution ||
          node.kind == NodeKind::kScan) {
        return {};
      }
      bool depends = node.kind == NodeKind::kReduce;
      for (int operand : node.operands) depends = depends || reduced_[operand];
      reduced_.push_back(depends);
      if (node.kind == NodeKind::kReduce) row_ = set_union(row_, node.axes);
      copy_.next(copy_.add(copy_.copied(node)));
    }
    for (const Output& output : old_.outputs) {
      if (full_of_reduced(output.node)) copy_.replace(output.node, from_memory(output.node));
    }
    if (read_.empty()) return {};
    return copy_.finished();
  }

 private:
  bool full_of_reduced(int id) const {
    return reduced_[id] && !set_intersection(old_.nodes[id].varies, row_).empty();
  }

  // The value, made of what others left in memory.
  int from_memory(int id) {
    if (!reduced_[id]) return copy_[id];
    auto [it, is_new] = read_.emplace(id, -1);
    if (!is_new) return it->second;
    int made = -1;
    if (full_of_reduced(id)) {
      Node node = old_.nodes[id];
      for (int& operand : node.operands) operand = from_memory(operand);
      made = copy_.add(std::move(node));
    } else {
      made = copy_.through_memory(copy_[id]);
    }
    return read_[id] = made;
  }

  const Graph& old_;
  GraphCopy copy_;
  Axes row_;
  std::vector<bool> reduced_;
  std::map<int, int> read_;
};

}  // namespace

std::optional<Graph> rows_apart(const Graph& graph) { return RowsApart(graph).run(); }

}  // namespace kw::teacher
