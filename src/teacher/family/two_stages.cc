#include "teacher/family/two_stages.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "teacher/family/family.h"
#include "teacher/family/row_loops.h"
#include "teacher/graph/graph_copy.h"

namespace kw::teacher {
namespace {

// A reduction that tiles begin.
struct Begun {
  int local = -1;  // of a tile, in registers
  int found = -1;  // the same, read from memory by who joins
};

class TwoStages {
 public:
  TwoStages(const Graph& graph, int64_t columns)
      : old_(graph),
        columns_(columns),
        copy_(graph),
        located_(located_reductions(graph)),
        moments_(moment_reductions(graph)) {}

  std::optional<Graph> run() {
    if (!find_rows()) return {};
    const int64_t size = old_.axes.size(row_);
    part_ = copy_.out.part = copy_.out.axes.fresh(cdiv(size, columns_));
    copy_.out.part_columns = columns_;
    const std::string text = size_text(old_, row_);
    const bool simple = text.find(' ') == std::string::npos;
    copy_.out.size_text[part_] = host_cdiv(simple ? text : "(" + text + ")", columns_);
    for (size_t i = 0; i < old_.nodes.size(); ++i) {
      const int id = static_cast<int>(i);
      const Node& node = old_.nodes[i];
      if (node.kind != NodeKind::kReduce) {
        if (crosses_wide(id)) return {};
        copy_.next(copy_.add(copy_.copied(node)));
      } else if (!crosses_wide(id)) {
        copy_.next(elsewhere(node));
      } else if (sorted(node.axes) != row_) {
        return {};
      } else if (const int joined = begun_and_joined(id); joined >= 0) {
        copy_.next(joined);
      } else {
        return {};
      }
    }
    if (begun_.empty()) return {};
    return finished();
  }

 private:
  // Finds which nodes are made of products, and the columns: one side of all products has them, and
  // rows are reduced over them.
  bool find_rows() {
    made_of_product_.assign(old_.nodes.size(), false);
    for (size_t i = 0; i < old_.nodes.size(); ++i) {
      const Node& node = old_.nodes[i];
      for (int operand : node.operands) {
        if (!made_of_product_[operand]) continue;
        made_of_product_[i] = true;
        if (node.kind == NodeKind::kMatmul) return false;
        if (node.kind == NodeKind::kReduce && row_.empty()) row_ = sorted(node.axes);
      }
      if (node.kind == NodeKind::kMatmul) made_of_product_[i] = true;
    }
    if (row_.empty()) return false;
    for (const Node& node : old_.nodes) {
      if (node.kind != NodeKind::kMatmul) continue;
      const Axes &a = old_.nodes[node.operands[0]].varies, &b = old_.nodes[node.operands[1]].varies;
      if (set_minus(a, b) != row_ && set_minus(b, a) != row_) return false;
    }
    return true;
  }

  bool wide(int id) const {
    return made_of_product_[id] && !set_intersection(old_.nodes[id].varies, row_).empty();
  }

  // Something other than element by element is done to what is made of the product and has columns.
  bool crosses_wide(int id) const {
    const Node& node = old_.nodes[id];
    if (node.kind == NodeKind::kPointwise || node.kind == NodeKind::kLoad) return false;
    for (int operand : node.operands) {
      if (wide(operand)) return true;
    }
    return false;
  }

  // A reduction that no product's columns end in: a kernel of its own.
  int elsewhere(const Node& node) {
    Node out = copy_.copied(node);
    bool after = false;
    for (int operand : node.operands) after = after || made_of_product_[operand];
    if (!after) return copy_.through_memory(copy_.add(std::move(out)));
    out.operands[0] = copy_.through_memory(out.operands[0]);
    return copy_.add(std::move(out));
  }

  // ---- Of one reduction over columns

  // The node in a tile's terms: what it is made of, with `instead` in place of some. -1 where it is
  // made of a reduction over whole rows.
  int local(int id, const std::map<int, int>& instead) {
    if (auto it = instead.find(id); it != instead.end()) return it->second;
    if (!made_of_product_[id] || old_.nodes[id].kind == NodeKind::kMatmul) return copy_[id];
    if (old_.nodes[id].kind == NodeKind::kReduce) return -1;
    Node node = old_.nodes[id];
    bool same = true;
    for (int& operand : node.operands) {
      const int own = local(operand, instead);
      if (own < 0) return -1;
      same = same && own == copy_[operand];
      operand = own;
    }
    return same ? copy_[id] : copy_.add(std::move(node));
  }

  // Reduction `id` of a tile, over `operand`; known as begun from here on.
  Begun begin(int id, int operand) {
    Node node = old_.nodes[id];
    node.operands = {operand};
    Begun out;
    out.local = copy_.add(std::move(node));
    Axes& varies = copy_.out.nodes[out.local].varies;
    varies = set_union(varies, {part_});
    out.found = copy_.through_memory(out.local, part_);
    begun_[id] = out;
    return out;
  }

  // The reduction over tiles of `operand`.
  int join(int id, int operand) {
    Node node = old_.nodes[id];
    node.operands = {operand};
    node.axes = {part_};
    return copy_.add(std::move(node));
  }

  // -1 where it cannot be done.
  int begun_and_joined(int id) {
    const int operand = old_.nodes[id].operands[0];
    if (auto pair = located_.find(id); pair != located_.end()) return position(id, pair->second);
    if (auto pair = moments_.find(id); pair != moments_.end()) return squares(id, pair->second);
    if (const int plain = local(operand, {}); plain >= 0) return join(id, begin(id, plain).found);
    if (const int joined = exponentials(id); joined >= 0) return joined;
    return shifted(id);
  }

  int position(int id, int extremum) {
    const int candidate = old_.nodes[id].operands[0];
    const int own = local(candidate, {{extremum, begun_.at(extremum).local}});
    if (own < 0) return -1;
    const Begun begun = begin(id, own);
    Node first = copy_.copied(old_.nodes[candidate]);
    first.operands[0] = begun_.at(extremum).found;
    first.operands[2] = begun.found;
    return join(id, copy_.add(std::move(first)));
  }

  int squares(int id, int sum) {
    const int square = old_.nodes[id].operands[0];
    const int centered = old_.nodes[square].operands[0];
    const int mean = old_.nodes[centered].operands[1], count = old_.nodes[mean].operands[1];
    const int x = local(old_.nodes[centered].operands[0], {});
    if (x < 0) return -1;
    const int width = columns_of_tile(copy_[count]);
    auto with = [&](int node, std::vector<int> operands) {
      Node out = old_.nodes[node];
      out.operands = std::move(operands);
      return copy_.add(std::move(out));
    };
    const int own_mean = with(mean, {begun_.at(sum).local, width});
    const Begun begun = begin(id, with(square, {with(centered, {x, own_mean})}));
    return join(
        id, copy_.add(GraphCopy::pointwise(
                "spread", "{0} + {1} * ({2} / {1} - {3}) * ({2} / {1} - {3})",
                {begun.found, width, begun_.at(sum).found, copy_[mean]}, old_.nodes[id].dtype)));
  }

  // The last tile may have fewer. `count` is the node that counts a row's.
  int columns_of_tile(int count) {
    Node index;
    index.kind = NodeKind::kIndex;
    index.name = "part";
    index.dtype = DType::kInt32;
    index.axes = index.varies = {part_};
    const std::string whole = std::to_string(columns_);
    return copy_.add(GraphCopy::pointwise("width",
                                          "tl.minimum({1} - {0} * " + whole + ", " + whole + ")",
                                          {copy_.add(std::move(index)), count}, DType::kInt32));
  }

  // Returns the maximum of x that the tiles have found; null if no reduction asks for it.
  const Begun* maximum_of(int x) const {
    for (const auto& [top, begun] : begun_) {
      const Node& node = old_.nodes[top];
      const bool largest = node.reduce == ReduceOp::kMax || node.reduce == ReduceOp::kMaximum;
      if (largest && node.operands[0] == x && node.dtype == DType::kFloat32) return &begun;
    }
    return nullptr;
  }

  // Returns the maximum as a finite number, so that what is relative to it is no NaN in a tile of
  // nothing but infinities.
  int finite(int maximum) {
    return copy_.add(
        GraphCopy::pointwise("top",
                             "tl.where(tl.abs({0}) == float(\"inf\"), tl.where({0} > 0, 0.0, "
                             "-3.4028234663852886e38), {0})",
                             {maximum}, DType::kFloat32));
  }

  // Writes the sum of x - s or x + s for values s of the whole row, of which there may be several.
  // x is summed relative to the tile's maximum if there is one, because s is about as large.
  int shifted(int id) {
    if (old_.nodes[id].reduce != ReduceOp::kSum || !is_floating(old_.nodes[id].dtype)) return -1;
    const DType dtype = old_.nodes[id].dtype;
    int x = old_.nodes[id].operands[0];
    std::vector<std::pair<std::string, int>> shifts;  // sign, node
    while (true) {
      const Node& node = old_.nodes[x];
      const bool minus = node.expression == "{0} - {1}";
      if (!minus && node.expression != "{0} + {1}") break;
      if (!wide(node.operands[0]) || wide(node.operands[1])) break;
      if (!set_intersection(old_.nodes[node.operands[1]].varies, row_).empty()) break;
      shifts.emplace_back(minus ? " - " : " + ", node.operands[1]);
      x = node.operands[0];
    }
    int own = shifts.empty() ? -1 : local(x, {});
    if (own < 0) return -1;
    const Begun* max = maximum_of(x);
    if (max)
      own = copy_.add(
          GraphCopy::pointwise("relative", "{0} - {1}", {own, finite(max->local)}, dtype));
    int relative = max ? finite(max->found) : -1;
    for (const auto& [sign, shift] : shifts) {
      std::vector<int> operands = {copy_[shift]};
      if (relative >= 0) operands.insert(operands.begin(), relative);
      const std::string text = relative >= 0 ? "{0}" + sign + "{1}" : "0.0" + sign + "{0}";
      relative = copy_.add(GraphCopy::pointwise("relative", text, std::move(operands), dtype));
    }
    Node count;
    count.kind = NodeKind::kCount;
    count.name = "count";
    count.dtype = DType::kInt32;
    count.axes = row_;
    const int width = columns_of_tile(copy_.add(std::move(count)));
    const Begun begun = begin(id, own);
    return join(id, copy_.add(GraphCopy::pointwise("moved", "{0} + {1} * {2}",
                                                   {begun.found, width, relative}, dtype)));
  }

  // sum of exp(x - s), where the maximum of x is at hand.
  int exponentials(int id) {
    const Node& sum = old_.nodes[id];
    const Node& exp = old_.nodes[sum.operands[0]];
    if (sum.reduce != ReduceOp::kSum || exp.operands.empty()) return -1;
    const bool apart = is_exponential(exp);
    const Node& shifted = apart ? old_.nodes[exp.operands[0]] : exp;
    if (shifted.expression != (apart ? "{0} - {1}" : "tl.exp({0} - {1})")) return -1;
    const int x = shifted.operands[0], shift = shifted.operands[1];
    const Begun* max = maximum_of(x);
    if (!max) return -1;
    const int own = local(sum.operands[0], {{shift, finite(max->local)}});
    if (own < 0) return -1;
    const int top = finite(max->found);
    const Begun begun = begin(id, own);
    return join(id, copy_.add(GraphCopy::pointwise("weighed", "{0} * tl.exp({1} - {2})",
                                                   {begun.found, top, copy_[shift]}, sum.dtype)));
  }

  // Nothing when the product is needed for itself.
  std::optional<Graph> finished() {
    Graph out = copy_.finished();
    std::vector<bool> needs_product(out.nodes.size(), false);
    for (size_t i = 0; i < out.nodes.size(); ++i) {
      needs_product[i] = out.nodes[i].kind == NodeKind::kMatmul;
      for (int operand : out.nodes[i].operands) {
        needs_product[i] = needs_product[i] || needs_product[operand];
      }
    }
    for (const Output& output : out.outputs) {
      const bool of_tiles = contains(out.nodes[output.node].varies, part_);
      if (needs_product[output.node] && !of_tiles) return {};
    }
    return out;
  }

  const Graph& old_;
  const int64_t columns_;
  GraphCopy copy_;  // reductions over columns: as they are joined
  const std::map<int, int> located_, moments_;
  AxisId part_ = -1;
  Axes row_;
  std::vector<bool> made_of_product_;
  std::map<int, Begun> begun_;
};

}  // namespace

std::optional<Graph> in_two_stages(const Graph& graph, int64_t columns) {
  return TwoStages(graph, columns).run();
}

}  // namespace kw::teacher
