#include "teacher/graph/loop_ir.h"

#include <algorithm>

namespace kw::teacher {

bool is_exponential(const Node& node) {
  return node.expression == "tl.exp({0})" || node.expression == "libdevice.exp({0})";
}

DType register_type(DType dtype) {
  const bool half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return half ? DType::kFloat32 : dtype;
}

std::string_view triton_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "tl.float64";
    case DType::kFloat32:
      return "tl.float32";
    case DType::kFloat16:
      return "tl.float16";
    case DType::kBFloat16:
      return "tl.bfloat16";
    case DType::kInt64:
      return "tl.int64";
    case DType::kInt32:
      return "tl.int32";
    case DType::kInt16:
      return "tl.int16";
    case DType::kInt8:
      return "tl.int8";
    case DType::kUInt8:
      return "tl.uint8";
    case DType::kBool:
      return "tl.int1";
    case DType::kComplex64:  // Triton has none, and the teacher refuses them
    case DType::kComplex128:
      break;
  }
  return "?";
}

Axes window_axes(const Graph& graph) {
  Axes out;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kWindow) out = set_union(out, sorted(node.axes));
  }
  return out;
}

int64_t stride_value(const Graph& graph, const Stride& stride,
                     const std::vector<int64_t>& strides) {
  if (stride.factor == 0) return 0;
  return strides[stride.dim] * stride.factor * graph.axes.size(stride.times);
}

std::string stride_text(const Graph& graph, const Stride& stride, const std::string& tensor) {
  std::string out = tensor + ".stride(" + std::to_string(stride.dim) + ")";
  if (stride.factor != 1) out += " * " + std::to_string(stride.factor);
  const Axes times = graph.axes.leaves(stride.times);
  if (times.size() > 1 || (times.size() == 1 && graph.axes.size(times[0]) != 1)) {
    const std::string sizes = size_text(graph, times);
    const bool plain = sizes.find("//") == std::string::npos;
    out += plain ? " * " + sizes : " * (" + sizes + ")";
  }
  return out;
}

std::vector<LeafStride> leaf_strides(const Graph& graph, const std::vector<Piece>& pieces,
                                     const std::string& tensor,
                                     const std::vector<int64_t>& strides) {
  std::vector<LeafStride> out;
  for (const Piece& piece : pieces) {
    if (piece.stride.factor == 0) continue;
    const Axes leaves = graph.axes.leaves(piece.axis);
    for (size_t i = 0; i < leaves.size(); ++i) {
      Stride stride = piece.stride;
      stride.times.insert(stride.times.end(), leaves.begin() + i + 1, leaves.end());
      out.push_back(
          {leaves[i], stride_value(graph, stride, strides), stride_text(graph, stride, tensor)});
    }
  }
  return out;
}

namespace {

// Returns whether the first bracket closes at the end.
bool is_enclosed(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0) return i > 0 && i + 1 == text.size();
  }
  return false;
}

}  // namespace

std::string size_text(const Graph& graph, const Axes& leaves) {
  std::string out;
  for (AxisId leaf : leaves) {
    auto it = graph.size_text.find(leaf);
    std::string text =
        it == graph.size_text.end() ? std::to_string(graph.axes.size(leaf)) : it->second;
    if (leaves.size() > 1 && text.find("//") != std::string::npos && !is_enclosed(text)) {
      text = "(" + text + ")";
    }
    out += (out.empty() ? "" : " * ") + text;
  }
  return out.empty() ? "1" : out;
}

std::string tensor_name(const Graph& graph, int input) {
  if (input < graph.inputs) return "a" + std::to_string(input);
  return graph.memory_names.at(static_cast<size_t>(input - graph.inputs));
}

void number_outputs(Graph& graph) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    graph.outputs[i].name = "out" + std::to_string(i);
  }
  name_loads(graph);
}

void name_loads(Graph& graph) {
  for (const Output& output : graph.outputs) {
    const int memory = output.target - graph.inputs;
    if (output.target < 0 || memory < 0) continue;
    graph.memory_names.resize(std::max<size_t>(graph.memory_names.size(), memory + 1));
    graph.memory_names[memory] = output.name;
  }
  for (Node& node : graph.nodes) {
    if (node.kind == NodeKind::kLoad) node.name = tensor_name(graph, node.input);
  }
}

std::string stride_name(const std::string& tensor, const std::string& text) {
  const size_t open = text.find(".stride(");
  if (open == std::string::npos) return tensor + "_stride";
  const size_t from = open + 8, close = text.find(')', from);
  const bool plain = close + 1 == text.size();
  return tensor + (plain ? "_stride_" : "_outer_") + text.substr(from, close - from);
}

}  // namespace kw::teacher
