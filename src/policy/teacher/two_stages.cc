#include "policy/teacher/two_stages.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/teacher/family.h"
#include "policy/teacher/parts.h"
#include "policy/teacher/rows.h"

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
        out_(graph),
        located_(located_reductions(graph)),
        moments_(moment_reductions(graph)) {
    out_.nodes.clear();
    out_.outputs.clear();
  }

  std::optional<Graph> run() {
    if (!find_rows()) return {};
    const int64_t size = out_.axes.size(row_);
    if (size <= columns_) return {};
    out_.part = out_.axes.fresh(cdiv(size, columns_));
    out_.part_columns = columns_;
    const std::string text = size_text(old_, row_);
    const bool simple = text.find(' ') == std::string::npos;
    out_.size_text[out_.part] = host_cdiv(simple ? text : "(" + text + ")", columns_);
    for (size_t i = 0; i < old_.nodes.size(); ++i) {
      const int id = static_cast<int>(i);
      const Node& node = old_.nodes[i];
      if (node.kind != NodeKind::kReduce) {
        if (crosses_wide(id)) return {};
        new_.push_back(add(copied(node)));
      } else if (!crosses_wide(id)) {
        new_.push_back(elsewhere(node));
      } else if (sorted(node.axes) != row_) {
        return {};
      } else if (const int joined = begun_and_joined(id); joined >= 0) {
        new_.push_back(joined);
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

  int add(Node node) {
    if (node.kind != NodeKind::kLoad && node.kind != NodeKind::kIndex) node.varies.clear();
    for (int operand : node.operands) {
      node.varies = set_union(node.varies, out_.nodes[operand].varies);
    }
    if (node.kind == NodeKind::kReduce || node.kind == NodeKind::kMatmul ||
        node.kind == NodeKind::kConvolution) {
      node.varies = set_minus(node.varies, sorted(node.axes));
    }
    for (const ConvDim& dim : node.conv) node.varies = set_union(node.varies, sorted(dim.out));
    if (node.kind == NodeKind::kScan) node.varies = set_union(node.varies, sorted(node.axes));
    out_.nodes.push_back(std::move(node));
    return static_cast<int>(out_.nodes.size()) - 1;
  }

  Node copied(Node node) const {
    for (int& operand : node.operands) operand = new_[operand];
    return node;
  }

  Node pointwise(const std::string& name, const std::string& expression, std::vector<int> operands,
                 DType dtype) const {
    Node node;
    node.name = name;
    node.expression = expression;
    node.operand_types.assign(operands.size(), dtype);
    node.operands = std::move(operands);
    node.dtype = dtype;
    return node;
  }

  // The value, put in scratch memory and read again.
  int through_memory(int id) {
    const Node made = out_.nodes[id];
    Value value;
    value.dtype = made.dtype;
    value.storage = static_cast<int>(out_.program.values.size());
    Output output;
    output.node = id;
    output.value = static_cast<ValueId>(value.storage);
    output.target = static_cast<int>(out_.program.inputs.size());
    Axes order = made.varies;  // tiles outermost, so that rows stand side by side
    if (contains(order, out_.part)) {
      order = set_minus(order, {out_.part});
      order.insert(order.begin(), out_.part);
    }
    for (AxisId axis : order) {
      output.pieces.push_back({axis, {static_cast<int>(value.shape.size()), 1, {}}});
      value.shape.push_back(out_.axes.size(axis));
    }
    value.strides.assign(value.shape.size(), 1);
    for (size_t d = value.shape.size(); d-- > 1;) {
      value.strides[d - 1] = value.strides[d] * value.shape[d];
    }
    Node load;
    load.kind = NodeKind::kLoad;
    load.name = made.name;
    load.dtype = load.stored = made.dtype;
    load.input = output.target;
    load.pieces = output.pieces;
    load.varies = made.varies;
    out_.program.values.push_back(value);
    out_.program.inputs.push_back(output.value);
    scratch_.push_back(std::move(output));
    return add(std::move(load));
  }

  // A reduction that no product's columns end in: a kernel of its own.
  int elsewhere(const Node& node) {
    Node out = copied(node);
    bool after = false;
    for (int operand : node.operands) after = after || made_of_product_[operand];
    if (!after) return through_memory(add(std::move(out)));
    out.operands[0] = through_memory(out.operands[0]);
    return add(std::move(out));
  }

  // ---- Of one reduction over columns

  // The node in a tile's terms: what it is made of, with `instead` in place of some. -1 where it is
  // made of a reduction over whole rows.
  int local(int id, const std::map<int, int>& instead) {
    if (auto it = instead.find(id); it != instead.end()) return it->second;
    if (!made_of_product_[id] || old_.nodes[id].kind == NodeKind::kMatmul) return new_[id];
    if (old_.nodes[id].kind == NodeKind::kReduce) return -1;
    Node node = old_.nodes[id];
    bool same = true;
    for (int& operand : node.operands) {
      const int own = local(operand, instead);
      if (own < 0) return -1;
      same = same && own == new_[operand];
      operand = own;
    }
    return same ? new_[id] : add(std::move(node));
  }

  // Reduction `id` of a tile, over `operand`; known as begun from here on.
  Begun begin(int id, int operand) {
    Node node = old_.nodes[id];
    node.operands = {operand};
    Begun out;
    out.local = add(std::move(node));
    out_.nodes[out.local].varies = set_union(out_.nodes[out.local].varies, {out_.part});
    out.found = through_memory(out.local);
    begun_[id] = out;
    return out;
  }

  // The reduction over tiles of `operand`.
  int join(int id, int operand) {
    Node node = old_.nodes[id];
    node.operands = {operand};
    node.axes = {out_.part};
    return add(std::move(node));
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
    Node first = copied(old_.nodes[candidate]);
    first.operands[0] = begun_.at(extremum).found;
    first.operands[2] = begun.found;
    return join(id, add(std::move(first)));
  }

  int squares(int id, int sum) {
    const int square = old_.nodes[id].operands[0];
    const int centered = old_.nodes[square].operands[0];
    const int mean = old_.nodes[centered].operands[1], count = old_.nodes[mean].operands[1];
    const int x = local(old_.nodes[centered].operands[0], {});
    if (x < 0) return -1;
    const int width = columns_of_tile(new_[count]);
    auto with = [&](int node, std::vector<int> operands) {
      Node out = old_.nodes[node];
      out.operands = std::move(operands);
      return add(std::move(out));
    };
    const int own_mean = with(mean, {begun_.at(sum).local, width});
    const Begun begun = begin(id, with(square, {with(centered, {x, own_mean})}));
    return join(id, add(pointwise("spread", "{0} + {1} * ({2} / {1} - {3}) * ({2} / {1} - {3})",
                                  {begun.found, width, begun_.at(sum).found, new_[mean]},
                                  old_.nodes[id].dtype)));
  }

  // The last tile may have fewer. `count` is the node that counts a row's.
  int columns_of_tile(int count) {
    Node index;
    index.kind = NodeKind::kIndex;
    index.name = "part";
    index.dtype = DType::kInt32;
    index.axes = index.varies = {out_.part};
    const std::string whole = std::to_string(columns_);
    return add(pointwise("width", "tl.minimum({1} - {0} * " + whole + ", " + whole + ")",
                         {add(std::move(index)), count}, DType::kInt32));
  }

  // The maximum of x, where tiles have found theirs; null where nobody asked.
  const Begun* maximum_of(int x) const {
    for (const auto& [top, begun] : begun_) {
      const Node& node = old_.nodes[top];
      const bool largest = node.reduce == ReduceOp::kMax || node.reduce == ReduceOp::kMaximum;
      if (largest && node.operands[0] == x && node.dtype == DType::kFloat32) return &begun;
    }
    return nullptr;
  }

  // A maximum made finite, so that a tile of nothing but infinities has something to be relative to.
  int finite(int maximum) {
    return add(pointwise("top",
                         "tl.where(tl.abs({0}) == float(\"inf\"), tl.where({0} > 0, 0.0, "
                         "-3.4028234663852886e38), {0})",
                         {maximum}, DType::kFloat32));
  }

  // sum of x - s or x + s for values s of the whole row, of which there may be several: x is summed
  // relative to the tile's maximum where there is one, as s is about as large.
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
    if (max) own = add(pointwise("relative", "{0} - {1}", {own, finite(max->local)}, dtype));
    int relative = max ? finite(max->found) : -1;
    for (const auto& [sign, shift] : shifts) {
      std::vector<int> operands = {new_[shift]};
      if (relative >= 0) operands.insert(operands.begin(), relative);
      const std::string text = relative >= 0 ? "{0}" + sign + "{1}" : "0.0" + sign + "{0}";
      relative = add(pointwise("relative", text, std::move(operands), dtype));
    }
    Node count;
    count.kind = NodeKind::kCount;
    count.name = "count";
    count.dtype = DType::kInt32;
    count.axes = row_;
    const int width = columns_of_tile(add(std::move(count)));
    const Begun begun = begin(id, own);
    return join(id,
                add(pointwise("moved", "{0} + {1} * {2}", {begun.found, width, relative}, dtype)));
  }

  // sum of exp(x - s), where the maximum of x is at hand.
  int exponentials(int id) {
    const Node& sum = old_.nodes[id];
    const Node& exp = old_.nodes[sum.operands[0]];
    if (sum.reduce != ReduceOp::kSum || exp.operands.empty()) return -1;
    const bool apart = exp.expression == "tl.exp({0})";
    const Node& shifted = apart ? old_.nodes[exp.operands[0]] : exp;
    if (shifted.expression != (apart ? "{0} - {1}" : "tl.exp({0} - {1})")) return -1;
    const int x = shifted.operands[0], shift = shifted.operands[1];
    const Begun* max = maximum_of(x);
    if (!max) return -1;
    const int own = local(sum.operands[0], {{shift, finite(max->local)}});
    if (own < 0) return -1;
    const int top = finite(max->found);
    const Begun begun = begin(id, own);
    return join(id, add(pointwise("weighed", "{0} * tl.exp({1} - {2})",
                                  {begun.found, top, new_[shift]}, sum.dtype)));
  }

  // Without what nothing needs any more; nothing when the product is needed for itself.
  std::optional<Graph> finished() {
    std::vector<size_t> all;
    for (const Output& output : old_.outputs) {
      out_.outputs.push_back(output);
      out_.outputs.back().node = new_[output.node];
    }
    out_.outputs.insert(out_.outputs.end(), scratch_.begin(), scratch_.end());
    for (size_t i = 0; i < out_.outputs.size(); ++i) {
      out_.outputs[i].name = "out" + std::to_string(i);
      all.push_back(i);
    }
    Graph out = with_outputs(out_, all);
    std::vector<bool> needs_product(out.nodes.size(), false);
    for (size_t i = 0; i < out.nodes.size(); ++i) {
      needs_product[i] = out.nodes[i].kind == NodeKind::kMatmul;
      for (int operand : out.nodes[i].operands) {
        needs_product[i] = needs_product[i] || needs_product[operand];
      }
    }
    for (const Output& output : out.outputs) {
      const bool of_tiles = contains(out.nodes[output.node].varies, out.part);
      if (needs_product[output.node] && !of_tiles) return {};
    }
    return out;
  }

  const Graph& old_;
  const int64_t columns_;
  Graph out_;
  const std::map<int, int> located_, moments_;
  Axes row_;
  std::vector<bool> made_of_product_;
  std::vector<int> new_;  // by old number; of reductions over columns: joined
  std::map<int, Begun> begun_;
  std::vector<Output> scratch_;
};

}  // namespace

std::optional<Graph> in_two_stages(const Graph& graph, int64_t columns) {
  return TwoStages(graph, columns).run();
}

}  // namespace kw::teacher
