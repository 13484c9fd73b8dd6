// Convolutions as direct sums: a tile of results in registers, the window and the few input
// channels of a group walked one by one. For depthwise and small groups, where a matrix product
// would multiply padding, and for types that tensor cores do not take.
#include <algorithm>
#include <memory>

#include "policy/teacher/body.h"
#include "policy/teacher/convolution.h"

namespace kw::teacher {
namespace {

struct StencilSchedule {
  int64_t rows = 1, cols = 1;  // of a tile
  int warps = 4;
  bool channels_inside = false;  // columns are channels, not positions
};

std::string named(const char* base, int d) { return base + std::to_string(d); }

class StencilKernel {
 public:
  StencilKernel(const Subject& subject, const Convolution& conv, const StencilSchedule& schedule)
      : subject_(subject),
        graph_(subject.graph),
        conv_(conv),
        schedule_(schedule),
        kernel_("stencil"),
        body_(subject.graph, subject.table, subject.program, kernel_) {
    for (int d = 0; d < conv.rank(); ++d) {
      for (const char* base : {"o", "k", "i", "multiple", "inside"}) kernel_.unique(named(base, d));
    }
    for (const char* name : {"rows", "cols", "row_mask", "col_mask", "c"}) {
      kernel_.unique(name);
    }
  }

  Written write() {
    kernel_.describe(subject_.operators + ": a tile of results a program, summed directly.");
    place();
    std::vector<std::string> sums;
    const std::string type(triton_name(register_type(conv_.operand)));
    for (int id : conv_.products) {
      sums.push_back(kernel_.unique(graph_.nodes[id].name));
      kernel_.line(sums.back() + " = tl.zeros((BLOCK_R, BLOCK_C), " + type + ")");
    }
    const int depth = open_loops();
    body_.open_scope();
    const std::string inside = place_window();
    std::map<int, std::string> left;
    for (int id : conv_.left) left[id] = input(id, inside);
    for (int d = 0; d < conv_.rank(); ++d) body_.set_mask(2 + d, "");
    for (size_t i = 0; i < sums.size(); ++i) {
      const Node& node = graph_.nodes[conv_.products[i]];
      kernel_.line(sums[i] + " += " + left.at(node.operands[0]) + " * " +
                   body_.value(node.operands[1]));
    }
    body_.close_scope();
    for (int i = 0; i < depth; ++i) kernel_.close();
    for (size_t i = 0; i < sums.size(); ++i) body_.assign(conv_.products[i], sums[i]);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) body_.store(static_cast<int>(i));
    return {{std::move(kernel_)}, {}};
  }

 private:
  unsigned position_dim() const { return schedule_.channels_inside ? 1 : 2; }
  unsigned channel_dim() const { return schedule_.channels_inside ? 2 : 1; }

  std::vector<Loop> channel_loops() const {
    std::vector<Loop> out = conv_.group;
    out.insert(out.end(), conv_.filter.begin(), conv_.filter.end());
    return out;
  }

  void place() {
    const std::vector<Loop> channels = channel_loops();
    std::vector<Loop> positions;
    for (const ConvDim& dim : conv_.dims) {
      if (dim.out_size > 1) positions.push_back({dim.out, dim.out_size});
    }
    // Images go with the rows.
    std::vector<Loop> rows = conv_.batch, cols = schedule_.channels_inside ? channels : positions;
    const std::vector<Loop>& more = schedule_.channels_inside ? positions : channels;
    rows.insert(rows.end(), more.begin(), more.end());
    const std::string n_rows = kernel_.size("n_rows", total_text(graph_, rows));
    const std::string n_cols = kernel_.size("n_cols", total_text(graph_, cols));
    kernel_.constexpr_parameter("BLOCK_R", std::to_string(schedule_.rows));
    kernel_.constexpr_parameter("BLOCK_C", std::to_string(schedule_.cols));
    const char* wide = subject_.table.needs_int64() ? ".to(tl.int64)" : "";
    // Tiles of one row of tiles follow each other.
    const std::string tiles = kernel_.unique("tiles");
    kernel_.line(tiles + " = tl.cdiv(" + n_cols + ", BLOCK_C)");
    kernel_.line(std::string("rows = ((tl.program_id(0) // ") + tiles + ")" + wide +
                 " * BLOCK_R + tl.arange(0, BLOCK_R))[:, None]");
    kernel_.line(std::string("cols = ((tl.program_id(0) % ") + tiles + ")" + wide +
                 " * BLOCK_C + tl.arange(0, BLOCK_C))[None, :]");
    kernel_.line("row_mask = rows < " + n_rows);
    kernel_.line("col_mask = cols < " + n_cols);
    body_.set_mask(0, "row_mask");
    body_.set_mask(1, "col_mask");
    body_.unit_index = "rows";
    std::string rest = "rows";
    if (schedule_.channels_inside) {
      if (!channels.empty()) body_.bind_flat(channels, {"cols", 2}, "c");
      rest = place_positions("rows", !conv_.batch.empty());
    } else {
      place_positions("cols", false);
      for (size_t i = channels.size(); i-- > 0;) {
        const bool last = i == 0 && conv_.batch.empty();
        const std::string name = kernel_.unique("c" + std::to_string(i));
        if (last) {
          kernel_.line(name + " = " + rest);
        } else {
          const std::string size = kernel_.scalar("channels", size_text(graph_, channels[i].axes));
          kernel_.line(name + " = " + rest + " % " + size);
          rest += " // " + size;
        }
        body_.bind(channels[i], {name, 1});
      }
    }
    if (!conv_.batch.empty()) {
      const std::string b = kernel_.unique("b");
      kernel_.line(b + " = " + rest);
      body_.bind_flat(conv_.batch, {b, 1}, "b");
    }
    kernel_.launch({host_cdiv(n_rows, schedule_.rows) + " * " + host_cdiv(n_cols, schedule_.cols)},
                   schedule_.warps, 0);
  }

  // Names the position along each dimension; returns what is left of the index.
  std::string place_positions(const std::string& flat, bool more) {
    std::string rest = flat;
    int outermost = 0;
    while (outermost < conv_.rank() && conv_.dims[outermost].out_size == 1) ++outermost;
    for (int d = conv_.rank(); d-- > 0;) {
      const ConvDim& dim = conv_.dims[d];
      if (dim.out_size == 1) continue;
      const std::string o = named("o", d);
      if (d == outermost && !more) {
        kernel_.line(o + " = " + rest);
      } else {
        const std::string size = kernel_.scalar(named("out_", d), size_text(graph_, dim.out));
        kernel_.line(o + " = " + rest + " % " + size);
        rest += " // " + size;
      }
      body_.bind_flat(leaf_loops(graph_, dim.out), {o, position_dim()}, o);
    }
    return rest;
  }

  // Loops over channels and window; how many were opened. Small windows are unrolled.
  int open_loops() {
    int depth = 0;
    if (!conv_.channel.empty()) {
      const std::string size = kernel_.scalar("C", total_text(graph_, conv_.channel));
      kernel_.open("for c in range(0, " + size + "):");
      ++depth;
    }
    const char* range = conv_.taps() <= 32 ? "tl.static_range" : "range";
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      if (dim.kernel_size == 1) continue;
      kernel_.constexpr_parameter(named("K", d), kernel_size_text(graph_, dim));
      kernel_.open("for " + named("k", d) + " in " + range + "(" + named("K", d) + "):");
      ++depth;
    }
    return depth;
  }

  // Binds channel, window and input position; returns the mask of what lies in the input.
  std::string place_window() {
    if (!conv_.channel.empty()) body_.bind_flat(conv_.channel, {"c", 0}, "c");
    std::string inside;
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      const std::string i = named("i", d);
      if (!dim.kernel.empty()) {
        body_.bind_flat(leaf_loops(graph_, dim.kernel), {named("k", d), 0}, named("k", d));
      }
      const std::string condition = place_position(d);
      const unsigned dims = (dim.out_size > 1 ? position_dim() : 0) | (4u << d);
      if (!dim.in.empty()) body_.bind_flat(leaf_loops(graph_, dim.in), {i, dims}, i);
      if (condition.empty()) continue;
      const std::string name = named("inside", d);
      kernel_.line(name + " = " + condition);
      body_.set_mask(2 + d, name);
      inside += (inside.empty() ? "" : " & ") + name;
    }
    return inside;
  }

  // Prints the input position along a dimension; returns when there is one.
  std::string place_position(int d) {
    const ConvDim& dim = conv_.dims[d];
    const std::string i = named("i", d);
    const std::string at = window_position(dim, dim.out_size > 1 ? named("o", d) : "",
                                           dim.kernel_size > 1 ? named("k", d) : "");
    std::string condition;
    if (dim.transposed && dim.stride > 1) {
      const std::string s = std::to_string(dim.stride), multiple = named("multiple", d);
      kernel_.line(multiple + " = " + at);
      kernel_.line(i + " = " + multiple + " // " + s);
      condition = "(" + multiple + " >= 0) & (" + multiple + " % " + s + " == 0)";
    } else {
      kernel_.line(i + " = " + at);
      if (!dim.leaves_input()) return "";
      condition = "(" + i + " >= 0)";
    }
    const std::string size =
        dim.in_size == 1 ? "1" : kernel_.scalar(named("in_", d), size_text(graph_, dim.in));
    return condition + " & (" + i + " < " + size + ")";
  }

  // The input there, 0 outside.
  std::string input(int id, const std::string& inside) {
    const Node& node = graph_.nodes[id];
    bool masked = node.kind == NodeKind::kLoad && node.operands.empty();
    for (const ConvDim& dim : conv_.dims) {
      masked &= !dim.leaves_input() || !set_intersection(node.varies, dim.in).empty();
    }
    const std::string text = body_.value(id);
    if (inside.empty() || masked) return text;
    const std::string name = kernel_.unique("x");
    kernel_.line(name + " = tl.where(" + inside + ", " + text + ", 0.0)");
    return name;
  }

  const Subject& subject_;
  const Graph& graph_;
  const Convolution& conv_;
  const StencilSchedule schedule_;
  KernelText kernel_;
  Body body_;
};

// Channels are contiguous in the largest result.
bool channels_last(const Subject& subject, const Convolution& conv) {
  for (const Access& access : subject.table.accesses) {
    if (access.kind != Access::Kind::kStore) continue;
    for (const auto* loops : {&conv.filter, &conv.group}) {
      if (loops->empty()) continue;
      const LeafStride* s = loop_stride(access, loops->back());
      if (s && s->stride == 1) return true;
    }
    return false;
  }
  return false;
}

double stencil_seconds(const Subject& subject, const Convolution& conv, int64_t programs,
                       const StencilSchedule& s) {
  const DeviceProfile& device = subject.profile;
  const double results = static_cast<double>(programs * s.rows * s.cols);
  const double terms = static_cast<double>(conv.taps() * total_size(conv.channel)) *
                       static_cast<double>(conv.products.size());
  // Each term loads an operand through the L1 cache, at some 40 bytes a clock and SM, and works out
  // where it is.
  const double cached = results * terms * 4 / (device.sms * 40 * 1.7e9);
  const double flops = results * terms * 12 / scalar_rate(subject);
  const double bytes = static_cast<double>(subject.table.bytes());
  return model_seconds(subject, bytes, std::max(cached, flops), programs, s.warps,
                       bytes / static_cast<double>(programs));
}

}  // namespace

std::vector<Choice> stencil_choices(const Subject& subject) {
  const auto found = find_convolution(subject);
  if (!found) return {};
  const auto conv = std::make_shared<const Convolution>(*found);
  const bool inside = channels_last(subject, *conv);
  const int64_t channels = total_size(conv->group) * total_size(conv->filter);
  const int64_t images = total_size(conv->batch), positions = conv->positions();
  const int64_t n_cols = inside ? channels : positions;
  const int64_t n_rows = images * (inside ? positions : channels);
  std::vector<Choice> out;
  for (int64_t cols : {1, 16, 32, 64, 128, 256, 512, 1024}) {
    if (n_cols == 1 ? cols > 1 : cols == 1 || cols > std::max<int64_t>(16, next_power_of_2(n_cols)))
      continue;
    for (int64_t rows : {1, 2, 4, 8, 16, 32, 64}) {
      const int64_t tile = rows * cols;
      if (tile > 2048 || rows > next_power_of_2(n_rows)) continue;
      if (tile < 256 && rows < std::min<int64_t>(64, next_power_of_2(n_rows))) continue;
      const StencilSchedule s{rows, cols, tile <= 512 ? 4 : 8, inside};
      const int64_t programs = cdiv(n_rows, rows) * cdiv(n_cols, cols);
      if (programs >= int64_t{1} << 31) continue;
      out.push_back({"stencil",
                     "direct, BLOCK_R=" + std::to_string(rows) + " BLOCK_C=" + std::to_string(cols),
                     s.warps, 0, stencil_seconds(subject, *conv, programs, s), programs,
                     [=, &subject] { return StencilKernel(subject, *conv, s).write(); }});
    }
  }
  return in_class(std::move(out), convolution_class(subject, *conv));
}

}  // namespace kw::teacher
