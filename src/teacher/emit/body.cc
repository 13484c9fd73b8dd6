#include "teacher/emit/body.h"

#include <algorithm>
#include <cctype>

namespace kw::teacher {

void Body::bind(const Loop& loop, const Index& index) { loops_.push_back({loop, index}); }

void Body::close_scope() {
  loops_.resize(scopes_.back().loops);
  scopes_.pop_back();
}

void Body::bind_flat(const std::vector<Loop>& loops, const Index& flat, const std::string& hint) {
  std::string rest = flat.text;
  for (size_t i = loops.size(); i-- > 0;) {
    if (loops.size() == 1) {
      bind(loops[i], flat);
      return;
    }
    const std::string name = kernel_.unique(hint + "_" + std::to_string(i));
    if (i == 0) {
      kernel_.line(name + " = " + rest);
    } else {
      const std::string size =
          kernel_.scalar("size_" + std::to_string(i), size_text(graph_, loops[i].axes));
      kernel_.line(name + " = " + rest + " % " + size);
      rest += " // " + size;
    }
    bind(loops[i], {name, flat.dims});
  }
}

void Body::bind_contiguous(const std::vector<Loop>& loops, const Index& flat) {
  contiguous_ = loops;
  contiguous_index_ = flat;
}

bool Body::known(int node) const {
  for (const Scope& scope : scopes_) {
    if (scope.values.count(node)) return true;
  }
  return false;
}

std::string Body::mask(unsigned dims) const {
  std::string out;
  for (const auto& [dim, text] : masks_) {
    if (!(dims >> dim & 1) || text.empty()) continue;
    out += (out.empty() ? "" : " & ") + text;
  }
  return out;
}

// Sum of index * stride over the loops the access varies with; sets the tile dimensions it spans.
std::string Body::address(const Access& access, const std::string& prefix, unsigned* dims) {
  *dims = 0;
  if (!contiguous_.empty() && walks_contiguously(access, contiguous_)) {
    *dims = contiguous_index_.dims;
    return contiguous_index_.text;
  }
  std::string out;
  size_t bound = 0;
  for (const Bound& b : loops_) {
    const LeafStride* s = loop_stride(access, b.loop);
    if (!s) continue;
    bound += b.loop.axes.size();
    *dims |= b.index.dims;
    out += out.empty() ? "" : " + ";
    out += b.index.text;
    if (s->stride != 1) out += " * " + kernel_.scalar(stride_name(prefix, s->text), s->text);
  }
  if (bound != access.strides.size()) throw Refusal{"an access outside the kernel's loops"};
  return out;
}

unsigned Body::dims_of(int id) const {
  const auto walks = [&](const Loop& loop) {
    return !set_intersection(loop.axes, graph_.nodes[id].varies).empty();
  };
  unsigned dims = std::ranges::any_of(contiguous_, walks) ? contiguous_index_.dims : 0;
  for (const Bound& b : loops_) {
    if (walks(b.loop)) dims |= b.index.dims;
  }
  return dims;
}

// Zero, of a shape that spans the condition's tile dimensions beyond `dims`: a condition may vary
// where the address does not.
std::string Body::widening(int condition, unsigned dims) const {
  dims = dims_of(condition) & ~dims;
  if (dims != 0 && !contiguous_.empty()) return " + 0 * " + contiguous_index_.text;
  std::string out;
  for (const Bound& b : loops_) {
    // Two loops may walk the same dimension of tiles of different sizes: rows of a product's left
    // operand and of its right one.
    if (set_intersection(b.loop.axes, graph_.nodes[condition].varies).empty()) continue;
    if ((b.index.dims & dims) == 0) continue;
    out += " + 0 * " + b.index.text;
    dims &= ~b.index.dims;
  }
  return out;
}

std::string Body::load(int id, bool raw) {
  const Node& node = graph_.nodes[id];
  const std::string name = tensor_name(graph_, node.input);
  std::string pointer = kernel_.pointer(name + "_ptr", name);
  const auto& strides = program_.values[program_.inputs[node.input]].strides;
  std::string offset;
  for (const OffsetTerm& term : node.offset) {
    const int64_t stride = stride_value(graph_, term.stride, strides);
    if (term.index * stride == 0) continue;
    const std::string host = stride_text(graph_, term.stride, name);
    const std::string index = std::to_string(std::abs(term.index));
    offset += term.index < 0 ? " - " : " + ";
    if (stride == 1) {
      offset += index;
    } else {
      offset += (index == "1" ? "" : index + " * ") + kernel_.scalar(stride_name(name, host), host);
    }
  }
  pointer += offset;
  unsigned dims = 0;
  std::string index = address(table_.of_node(id), name, &dims);
  for (size_t i = 0; i < node.gathered.size(); ++i) {
    const std::string own = value(node.operands[i]);
    index += (index.empty() ? "" : " + ") + own;
    // An index that was loaded may be narrower than the offset it makes.
    if (table_.needs_int64() && std::isalpha(own[0])) index += ".to(tl.int64)";
    dims |= dims_of(node.operands[i]);
    if (stride_value(graph_, node.gathered[i].stride, strides) == 1) continue;
    const std::string host = stride_text(graph_, node.gathered[i].stride, name);
    index += " * " + kernel_.scalar(stride_name(name, host), host);
  }
  std::string conditions;
  for (size_t i = node.gathered.size(); i < node.operands.size(); ++i) {
    conditions += (conditions.empty() ? "" : " & ") + value(node.operands[i]);
    index += widening(node.operands[i], dims);
    dims |= dims_of(node.operands[i]);
  }
  std::string text = "tl.load(" + pointer;
  if (!index.empty()) text += (index[0] == ' ' ? "" : " + ") + index;
  std::string m = mask(dims);
  if (!conditions.empty()) m += (m.empty() ? "" : " & ") + conditions;
  if (!m.empty()) {
    const std::string zero = is_floating(node.stored) ? "0.0" : "0";
    text += ", mask=" + m + ", other=" + (node.other.empty() ? zero : node.other);
  }
  text += load_options + ")";
  if (!raw && node.dtype != node.stored) {
    text += ".to(" + std::string(triton_name(node.dtype)) + ")";
  }
  return text;
}

std::string Body::operand(int id, DType type) {
  const Node& node = graph_.nodes[id];
  std::string text = value(id);
  if (node.kind == NodeKind::kCount || node.dtype == type) return text;
  if (node.kind == NodeKind::kPointwise && node.operands.empty()) {
    return "tl.full((), " + text + ", " + std::string(triton_name(type)) + ")";
  }
  if (type == DType::kBool) return "(" + text + " != 0)";
  return text + ".to(" + std::string(triton_name(type)) + ")";
}

std::string Body::pointwise(const Node& node) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    operands.push_back(operand(node.operands[i], node.operand_types[i]));
  }
  std::string out;
  for (size_t i = 0; i < node.expression.size(); ++i) {
    if (node.expression[i] == '{' && i + 2 < node.expression.size() &&
        node.expression[i + 2] == '}') {
      out += operands.at(node.expression[i + 1] - '0');
      i += 2;
    } else {
      out += node.expression[i];
    }
  }
  return out;
}

// Loops of constants around what is folded; the variable that holds it.
std::string Body::folded(const Node& node) {
  const bool sum = node.reduce == ReduceOp::kSum;
  const std::string name = kernel_.unique(node.name);
  kernel_.line(name + " = " + (sum ? "0.0" : "float(\"-inf\")"));
  open_scope();
  for (AxisId axis : node.axes) {
    const std::string place = kernel_.unique("k");
    const int64_t size = graph_.axes.size(axis);
    kernel_.open("for " + place + " in tl.static_range(" + std::to_string(size) + "):");
    bind({{axis}, size}, {place, 0});
  }
  const std::string element = operand(node.operands[0], node.dtype);
  kernel_.line(
      name + " = " +
      (sum ? name + " + " + element
           : "tl.maximum(" + name + ", " + element + ", propagate_nan=tl.PropagateNan.ALL)"));
  close_scope();
  for (size_t i = 0; i < node.axes.size(); ++i) kernel_.close();
  return name;
}

std::string Body::value(int id) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto it = scope->values.find(id); it != scope->values.end()) return it->second;
  }
  const Node& node = graph_.nodes[id];
  std::string text;
  switch (node.kind) {
    case NodeKind::kLoad:
      text = load(id, false);
      break;
    case NodeKind::kPointwise:
      text = pointwise(node);
      if (node.operands.empty()) return text;  // a literal
      break;
    case NodeKind::kWindow:
      assign(id, folded(node));
      return value(id);
    case NodeKind::kReduce:
      if (!on_reduce) throw Refusal{"a reduction outside its loop"};
      text = on_reduce(id);
      break;
    case NodeKind::kScan:
      if (!on_scan) throw Refusal{"a scan outside its loop"};
      assign(id, on_scan(id));
      return value(id);
    case NodeKind::kCount:
      return kernel_.scalar("count", size_text(graph_, node.axes));
    case NodeKind::kIndex: {
      unsigned dims = 0;
      text = address(table_.of_node(id), "index", &dims);
      if (text.find(' ') == std::string::npos) {  // a loop's own index has a name
        assign(id, text);
        return text;
      }
      break;
    }
    case NodeKind::kMatmul:
    case NodeKind::kConvolution:
      throw Refusal{"a product outside its loop"};
  }
  const std::string name = kernel_.unique(node.name);
  kernel_.line(name + " = " + text);
  assign(id, name);
  return name;
}

std::string Body::stored_value(int id, DType dtype) {
  const Node& node = graph_.nodes[id];
  if (node.kind == NodeKind::kLoad && node.stored == dtype && !known(id)) {
    const std::string name = kernel_.unique(node.name);
    kernel_.line(name + " = " + load(id, true));
    return name;
  }
  const std::string text = value(id);
  if (node.dtype == dtype) return text;
  if (node.kind == NodeKind::kPointwise && node.operands.empty()) return operand(id, dtype);
  return text + ".to(" + std::string(triton_name(dtype)) + ")";
}

void Body::store(int index) {
  const Output& output = graph_.outputs[index];
  const std::string& name = output.name;
  const std::string text = value(output.node);
  const std::string pointer = kernel_.pointer(name + "_ptr", name);
  unsigned dims = 0;
  std::string where = address(table_.of_output(index), name, &dims);
  if (where.empty()) {
    where = unit_index;
    dims = 1;
  }
  std::string m = mask(dims);
  if (output.target >= 0 && repeated.along != 0 && (dims & repeated.along) == 0) {
    m += (m.empty() ? "" : " & ") + repeated.condition;
  }
  kernel_.line("tl.store(" + pointer + " + " + where + ", " + text +
               (m.empty() ? "" : ", mask=" + m) + ")");
}

}  // namespace kw::teacher
