// Convolutions as direct sums: a tile of results in registers, the window and the few input
// channels of a group walked one by one. For depthwise and small groups, where a matrix product
// would multiply padding, and for types that tensor cores do not take.
//
//   direct   each result sums its own window
//   sliding  a program works on several results that follow each other along one dimension: a
//            position of the input is read once for all windows that it lies in, and the weights
//            are held in registers
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "policy/teacher/body.h"
#include "policy/teacher/convolution.h"

namespace kw::teacher {
namespace {

struct StencilSchedule {
  int64_t rows = 1, cols = 1;  // of a tile
  int warps = 4;
  bool channels_inside = false;  // columns are channels, not positions
  int64_t slide = 1;             // results of a program along the sliding dimension
};

// The dimension that windows slide along: the outermost of several positions in which they overlap;
// -1: none. The innermost one is no good where columns are positions: neighbours would be apart.
int sliding_dim(const Convolution& conv, bool channels_inside) {
  int out = -1, positions = 0;
  for (int d = conv.rank(); d-- > 0;) {
    const ConvDim& dim = conv.dims[d];
    if (dim.transposed) return -1;
    const bool overlaps = (dim.kernel_size - 1) * dim.dilation >= dim.stride;
    if (dim.out_size > 1 && overlaps && (channels_inside || positions > 0)) out = d;
    positions += dim.out_size > 1 ? 1 : 0;
  }
  return out;
}

// Positions of the input that `slide` windows reach.
int64_t reach(const ConvDim& dim, int64_t slide) {
  return (slide - 1) * dim.stride + (dim.kernel_size - 1) * dim.dilation + 1;
}

std::string named(const char* base, int d) { return base + std::to_string(d); }

class StencilKernel {
 public:
  StencilKernel(const Subject& subject, const Convolution& conv, const StencilSchedule& schedule)
      : subject_(subject),
        graph_(subject.graph),
        conv_(conv),
        schedule_(schedule),
        along_(schedule.slide > 1 ? sliding_dim(conv, schedule.channels_inside) : -1),
        kernel_("stencil"),
        body_(subject.graph, subject.table, subject.program, kernel_) {
    for (int d = 0; d < conv.rank(); ++d) {
      for (const char* base : {"o", "k", "i", "multiple", "inside", "first"}) {
        kernel_.unique(named(base, d));
      }
    }
    for (const char* name : {"rows", "cols", "row_mask", "col_mask", "c"}) {
      kernel_.unique(name);
    }
  }

  Written write() { return along_ < 0 ? write_direct() : write_sliding(); }

 private:
  Written write_direct() {
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

  // A choice of one position of the window along each dimension.
  using Tap = std::vector<int64_t>;

  // Those of all dimensions but `fixed`, where it is 0; -1: of all dimensions.
  std::vector<Tap> taps(int fixed) const {
    std::vector<Tap> out = {Tap(static_cast<size_t>(conv_.rank()), 0)};
    for (int d = 0; d < conv_.rank(); ++d) {
      if (d == fixed) continue;
      std::vector<Tap> more;
      for (const Tap& tap : out) {
        for (int64_t k = 0; k < conv_.dims[d].kernel_size; ++k) {
          more.push_back(tap);
          more.back()[d] = k;
        }
      }
      out = std::move(more);
    }
    return out;
  }

  Written write_sliding() {
    const ConvDim& dim = conv_.dims[along_];
    const std::string count = std::to_string(schedule_.slide);
    kernel_.describe(subject_.operators + ": windows that slide by " + count + " a program.");
    place();
    std::vector<std::vector<std::string>> sums;
    const std::string type(triton_name(register_type(conv_.operand)));
    for (int64_t r = 0; r < schedule_.slide; ++r) {
      sums.emplace_back();
      for (int id : conv_.products) {
        sums.back().push_back(kernel_.unique(graph_.nodes[id].name));
        kernel_.line(sums.back().back() + " = tl.zeros((BLOCK_R, BLOCK_C), " + type + ")");
      }
    }
    const int depth = open_channels();
    body_.open_scope();
    if (!conv_.channel.empty()) body_.bind_flat(conv_.channel, {"c", 0}, "c");
    std::map<std::pair<int, Tap>, std::string> weights;
    for (const Tap& tap : taps(-1)) read_weights(tap, weights);
    std::map<std::pair<int, int64_t>, At> columns;  // dimension, position of the window
    for (int d = 0; d < conv_.rank(); ++d) {
      for (int64_t k = 0; d != along_ && k < conv_.dims[d].kernel_size; ++k) {
        columns[{d, k}] = at(d, position(d, k * conv_.dims[d].dilation), std::to_string(k));
      }
    }
    const std::string first = named("first", along_);
    kernel_.line(first + " = " + named("o", along_) + " * " +
                 std::to_string(schedule_.slide * dim.stride) +
                 (dim.padding ? " - " + std::to_string(dim.padding) : ""));
    for (int64_t j = 0; j < reach(dim, schedule_.slide); ++j) {
      if (!reached(j)) continue;
      const At row = at(along_, first + (j ? " + " + std::to_string(j) : ""), std::to_string(j));
      for (const Tap& tap : taps(along_)) {
        body_.open_scope();
        std::string inside;
        for (int d = 0; d < conv_.rank(); ++d) {
          bind_input(d, d == along_ ? row : columns.at({d, tap[d]}), &inside);
        }
        std::map<int, std::string> left;
        for (int id : conv_.left) left[id] = input(id, inside);
        for (int64_t r = 0; r < schedule_.slide; ++r) add_to(sums[r], r, j, tap, left, weights);
        for (int d = 0; d < conv_.rank(); ++d) body_.set_mask(2 + d, "");
        body_.close_scope();
      }
    }
    body_.close_scope();
    for (int i = 0; i < depth; ++i) kernel_.close();
    for (int64_t r = 0; r < schedule_.slide; ++r) store_results(r, sums[r]);
    return {{std::move(kernel_)}, {}};
  }

  void read_weights(const Tap& tap, std::map<std::pair<int, Tap>, std::string>& out) {
    body_.open_scope();
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      if (dim.kernel.empty()) continue;
      body_.bind_flat(leaf_loops(graph_, dim.kernel), {std::to_string(tap[d]), 0}, named("k", d));
    }
    for (int id : conv_.right) out[{id, tap}] = body_.value(id);
    body_.close_scope();
  }

  // A position of the input along a dimension, and when there is one (empty: always).
  struct At {
    std::string index, inside;
  };

  // "o1 * 2 + 3": where the window's position `shift` lies.
  std::string position(int d, int64_t shift) const {
    const ConvDim& dim = conv_.dims[d];
    const std::string o = dim.out_size > 1 ? named("o", d) : "";
    const int64_t moved = shift - dim.padding;
    if (o.empty()) return std::to_string(moved);
    const std::string scaled = dim.stride == 1 ? o : o + " * " + std::to_string(dim.stride);
    if (moved == 0) return scaled;
    return scaled + (moved > 0 ? " + " : " - ") + std::to_string(std::abs(moved));
  }

  At at(int d, const std::string& index, const std::string& suffix) {
    const ConvDim& dim = conv_.dims[d];
    At out{kernel_.unique(named("i", d) + "_" + suffix), ""};
    kernel_.line(out.index + " = " + index);
    if (!dim.leaves_input() && d != along_) return out;
    const std::string size =
        dim.in_size == 1 ? "1" : kernel_.scalar(named("in_", d), size_text(graph_, dim.in));
    out.inside = kernel_.unique(named("inside", d) + "_" + suffix);
    kernel_.line(out.inside + " = (" + out.index + " >= 0) & (" + out.index + " < " + size + ")");
    return out;
  }

  void bind_input(int d, const At& where, std::string* inside) {
    const ConvDim& dim = conv_.dims[d];
    const unsigned dims = (dim.out_size > 1 ? position_dim() : 0) | (4u << d);
    if (!dim.in.empty()) body_.bind_flat(leaf_loops(graph_, dim.in), {where.index, dims}, "i");
    body_.set_mask(2 + d, where.inside);
    if (!where.inside.empty()) *inside += (inside->empty() ? "" : " & ") + where.inside;
  }

  // The position of window `r` that reads position `j` of the input; -1: it does not.
  int64_t tap_of(int64_t r, int64_t j) const {
    const ConvDim& dim = conv_.dims[along_];
    const int64_t shift = j - r * dim.stride;
    if (shift < 0 || shift % dim.dilation != 0) return -1;
    return shift / dim.dilation < dim.kernel_size ? shift / dim.dilation : -1;
  }

  bool reached(int64_t j) const {
    for (int64_t r = 0; r < schedule_.slide; ++r) {
      if (tap_of(r, j) >= 0) return true;
    }
    return false;
  }

  void add_to(const std::vector<std::string>& sums, int64_t r, int64_t j, Tap tap,
              const std::map<int, std::string>& left,
              const std::map<std::pair<int, Tap>, std::string>& weights) {
    tap[along_] = tap_of(r, j);
    if (tap[along_] < 0) return;
    for (size_t i = 0; i < sums.size(); ++i) {
      const Node& node = graph_.nodes[conv_.products[i]];
      kernel_.line(sums[i] + " += " + left.at(node.operands[0]) + " * " +
                   weights.at({node.operands[1], tap}));
    }
  }

  // What follows result `r` of the program.
  void store_results(int64_t r, const std::vector<std::string>& sums) {
    const ConvDim& dim = conv_.dims[along_];
    body_.open_scope();
    const std::string o = kernel_.unique(named("o", along_) + "_" + std::to_string(r));
    kernel_.line(o + " = " + named("o", along_) + " * " + std::to_string(schedule_.slide) +
                 (r ? " + " + std::to_string(r) : ""));
    if (dim.out_size % schedule_.slide != 0) {
      const std::string name = kernel_.unique(named("inside", along_) + "_" + std::to_string(r));
      kernel_.line(name + " = " + o + " < " +
                   kernel_.scalar(named("out_", along_), size_text(graph_, dim.out)));
      body_.set_mask(2 + along_, name);
    }
    body_.bind_flat(leaf_loops(graph_, dim.out), {o, position_dim() | (4u << along_)}, o);
    for (size_t i = 0; i < sums.size(); ++i) body_.assign(conv_.products[i], sums[i]);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) body_.store(static_cast<int>(i));
    body_.set_mask(2 + along_, "");
    body_.close_scope();
  }

  // Steps of the index over results along a dimension, as host code.
  std::string steps_text(int d) const {
    const std::string size = size_text(graph_, conv_.dims[d].out);
    return d == along_ ? "triton.cdiv(" + size + ", " + std::to_string(schedule_.slide) + ")"
                       : size;
  }

  unsigned position_dim() const { return schedule_.channels_inside ? 1 : 2; }
  unsigned channel_dim() const { return schedule_.channels_inside ? 2 : 1; }

  std::vector<Loop> channel_loops() const {
    std::vector<Loop> out = conv_.group;
    out.insert(out.end(), conv_.filter.begin(), conv_.filter.end());
    return out;
  }

  void place() {
    const std::vector<Loop> channels = channel_loops();
    std::string positions;
    for (int d = 0; d < conv_.rank(); ++d) {
      if (conv_.dims[d].out_size == 1) continue;
      const std::string size = steps_text(d);
      const bool plain = size.find("//") == std::string::npos || size.back() == ')';
      positions += (positions.empty() ? "" : " * ") + (plain ? size : "(" + size + ")");
    }
    if (positions.empty()) positions = "1";
    // Images go with the rows.
    std::string rows = schedule_.channels_inside ? positions : total_text(graph_, channels);
    if (!conv_.batch.empty()) rows = total_text(graph_, conv_.batch) + " * " + rows;
    const std::string n_rows = kernel_.size("n_rows", rows);
    const std::string n_cols = kernel_.size(
        "n_cols", schedule_.channels_inside ? total_text(graph_, channels) : positions);
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
        const std::string size =
            kernel_.scalar(named(d == along_ ? "steps_" : "out_", d), steps_text(d));
        kernel_.line(o + " = " + rest + " % " + size);
        rest += " // " + size;
      }
      if (d == along_) continue;  // several results each
      body_.bind_flat(leaf_loops(graph_, dim.out), {o, position_dim()}, o);
    }
    return rest;
  }

  int open_channels() {
    if (conv_.channel.empty()) return 0;
    const std::string size = kernel_.scalar("C", total_text(graph_, conv_.channel));
    kernel_.open("for c in range(0, " + size + "):");
    return 1;
  }

  // Loops over channels and window; how many were opened. Small windows are unrolled.
  int open_loops() {
    int depth = open_channels();
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
  const int along_;  // the sliding dimension; -1: none
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
  const double results = static_cast<double>(programs * s.rows * s.cols * s.slide);
  const double terms = static_cast<double>(conv.taps() * total_size(conv.channel)) *
                       static_cast<double>(conv.products.size());
  // Operands are loaded through the L1 cache, at some 40 bytes a clock and SM, and it has to be
  // worked out where they are: for each term, or once for the windows that share one.
  double loads = terms;
  if (const int d = s.slide > 1 ? sliding_dim(conv, s.channels_inside) : -1; d >= 0) {
    loads *= static_cast<double>(reach(conv.dims[d], s.slide)) /
             static_cast<double>(s.slide * conv.dims[d].kernel_size);
  }
  const double cached = results * loads * 4 / (device.sms * 40 * 1.7e9);
  const double flops = results * (loads * 10 + terms * 2) / scalar_rate(subject);
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
  const int along = sliding_dim(*conv, inside);
  constexpr int64_t kHeldTaps = 64;
  std::vector<Choice> out;
  for (int64_t cols : {1, 16, 32, 64, 128, 256, 512, 1024}) {
    if (n_cols == 1 ? cols > 1 : cols == 1 || cols > std::max<int64_t>(16, next_power_of_2(n_cols)))
      continue;
    for (int64_t rows : {1, 2, 4, 8, 16, 32, 64}) {
      const int64_t tile = rows * cols;
      if (tile > 2048 || rows > next_power_of_2(n_rows)) continue;
      if (tile < 256 && rows < std::min<int64_t>(64, next_power_of_2(n_rows))) continue;
      for (int64_t slide : {1, 2, 4, 8}) {
        if (slide > 1 && (along < 0 || slide > conv->dims[along].out_size)) break;
        // Sums and weights are in registers.
        if (slide > 1 && (slide * tile > 2048 || conv->taps() > kHeldTaps)) break;
        const StencilSchedule s{rows, cols, tile <= 512 ? 4 : 8, inside, slide};
        const int64_t each = slide > 1 ? cdiv(conv->dims[along].out_size, slide) : 1;
        const int64_t steps = slide > 1 ? positions / conv->dims[along].out_size * each : positions;
        const int64_t own_rows = images * (inside ? steps : channels);
        const int64_t programs = cdiv(own_rows, rows) * cdiv(inside ? channels : steps, cols);
        if (programs >= int64_t{1} << 31) continue;
        const std::string kind = slide > 1 ? "sliding by " + std::to_string(slide) : "direct";
        out.push_back(
            {"stencil",
             kind + ", BLOCK_R=" + std::to_string(rows) + " BLOCK_C=" + std::to_string(cols),
             s.warps, 0, stencil_seconds(subject, *conv, programs, s), programs,
             [=, &subject] { return StencilKernel(subject, *conv, s).write(); }});
      }
    }
  }
  return in_class(std::move(out), convolution_class(subject, *conv));
}

}  // namespace kw::teacher
