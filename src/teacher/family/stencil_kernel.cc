// The kernels of stencil.h as text.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "teacher/emit/body.h"
#include "teacher/family/stencil.h"

namespace kw::teacher {
namespace {

class StencilKernel {
 public:
  StencilKernel(const Subject& subject, const Convolution& conv, const StencilSchedule& schedule)
      : subject_(subject),
        graph_(subject.graph),
        conv_(conv),
        schedule_(schedule),
        slides_(schedule.together ? slides_of(conv, schedule)
                                  : std::vector<Slide>(static_cast<size_t>(conv.rank()))),
        filters_(filters_together(conv, schedule)),
        kernel_("stencil"),
        body_(subject.graph, subject.table, subject.program, kernel_) {
    for (int d = 0; d < conv.rank(); ++d) {
      for (const char* base : {"o", "k", "i", "multiple", "inside", "first"}) {
        kernel_.unique(index_name(base, d));
      }
    }
    for (const char* name : {"rows", "cols", "row_mask", "col_mask", "c"}) {
      kernel_.unique(name);
    }
  }

  Written write() { return schedule_.together ? write_together() : write_direct(); }

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

  // A number for each dimension: a position of the window, of the input, or a result of the place.
  using Tuple = std::vector<int64_t>;

  // Returns all tuples below `counts`, the last dimension fastest.
  static std::vector<Tuple> tuples(const Tuple& counts) {
    std::vector<Tuple> out = {{}};
    for (int64_t count : counts) {
      std::vector<Tuple> more;
      for (const Tuple& tuple : out) {
        for (int64_t n = 0; n < count; ++n) {
          more.push_back(tuple);
          more.back().push_back(n);
        }
      }
      out = std::move(more);
    }
    return out;
  }

  Tuple each(const std::function<int64_t(int)>& count) const {
    Tuple out;
    for (int d = 0; d < conv_.rank(); ++d) out.push_back(count(d));
    return out;
  }

  Written write_together() {
    kernel_.describe(subject_.operators + ": neighbouring windows together, summed directly.");
    place();
    const std::vector<Tuple> results = tuples(each([&](int d) { return slides_[d].results; }));
    const std::string type(triton_name(register_type(conv_.operand)));
    Sums sums;
    for (const Tuple& result : results) {
      for (int64_t f = 0; f < filters_; ++f) {
        for (int id : conv_.products) {
          const std::string name = kernel_.unique(graph_.nodes[id].name);
          kernel_.line(name + " = tl.zeros((BLOCK_R, BLOCK_C), " + type + ")");
          sums[{result, f}].push_back(name);
        }
      }
    }
    const int depth = open_channels();
    body_.open_scope();
    if (!conv_.channel.empty()) body_.bind_flat(conv_.channel, {"c", 0}, "c");
    read_weights();
    const std::vector<std::vector<At>> positions = input_positions();
    for (const Tuple& at : tuples(each([&](int d) { return slides_[d].reach; }))) {
      add_position(at, positions, results, sums);
    }
    body_.close_scope();
    for (int i = 0; i < depth; ++i) kernel_.close();
    for (const auto& [place, names] : sums) store_results(place.first, place.second, names);
    return {{std::move(kernel_)}, {}};
  }

  void bind_filter(int64_t f) {
    if (filters_ > 1) body_.bind_flat(conv_.filter, {std::to_string(f), 0}, "f");
  }

  void read_weights() {
    for (int64_t f = 0; f < filters_; ++f) {
      for (const Tuple& tap : tuples(each([&](int d) { return conv_.dims[d].kernel_size; }))) {
        body_.open_scope();
        bind_filter(f);
        for (int d = 0; d < conv_.rank(); ++d) {
          const Axes& kernel = conv_.dims[d].kernel;
          if (kernel.empty()) continue;
          body_.bind_flat(leaf_loops(graph_, kernel), {std::to_string(tap[d]), 0},
                          index_name("k", d));
        }
        for (int id : conv_.right) weights_[{id, f, tap}] = body_.value(id);
        body_.close_scope();
      }
    }
  }

  // A position of the input along a dimension, and when there is one (empty: always).
  struct At {
    std::string index, inside;
  };

  std::vector<std::vector<At>> input_positions() {
    std::vector<std::vector<At>> out;
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      const Slide& slide = slides_[d];
      const std::string o = dim.out_size > 1 ? index_name("o", d) : "0",
                        first = index_name("first", d);
      kernel_.line(first + " = " + o + (slide.step == 1 ? "" : " * " + std::to_string(slide.step)) +
                   (slide.before == 0 ? ""
                                      : (slide.before > 0 ? " - " : " + ") +
                                            std::to_string(std::abs(slide.before))));
      out.emplace_back();
      for (int64_t j = 0; j < slide.reach; ++j) out.back().push_back(position(d, j));
    }
    return out;
  }

  At position(int d, int64_t j) {
    const ConvDim& dim = conv_.dims[d];
    if (!read_by_any(d, j)) return {};
    At out{kernel_.unique(index_name("i", d) + "_" + std::to_string(j)), ""};
    kernel_.line(out.index, index_name("first", d) + Expr(j));
    const bool leaves = dim.leaves_input() || dim.transposed || slides_[d].results > 1;
    if (!leaves) return out;
    const std::string size =
        dim.in_size == 1 ? "1" : kernel_.scalar(index_name("in_", d), size_text(graph_, dim.in));
    out.inside = kernel_.unique(index_name("inside", d) + "_" + std::to_string(j));
    kernel_.line(out.inside + " = (" + out.index + " >= 0) & (" + out.index + " < " + size + ")");
    return out;
  }

  bool read_by_any(int d, int64_t j) const {
    for (int64_t r = 0; r < slides_[d].results; ++r) {
      if (slides_[d].tap(conv_.dims[d], r, j) >= 0) return true;
    }
    return false;
  }

  using Sums = std::map<std::pair<Tuple, int64_t>, std::vector<std::string>>;  // result, filter

  // Adds what the input at one position is part of.
  void add_position(const Tuple& at, const std::vector<std::vector<At>>& positions,
                    const std::vector<Tuple>& results, const Sums& sums) {
    for (int d = 0; d < conv_.rank(); ++d) {
      if (!read_by_any(d, at[d])) return;
    }
    body_.open_scope();
    std::string inside;
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      const At& here = positions[d][at[d]];
      const unsigned dims = (dim.out_size > 1 ? position_dim() : 0) | (4u << d);
      if (!dim.in.empty()) body_.bind_flat(leaf_loops(graph_, dim.in), {here.index, dims}, "i");
      body_.set_mask(2 + d, here.inside);
      if (!here.inside.empty()) inside += (inside.empty() ? "" : " & ") + here.inside;
    }
    std::map<int, std::string> left;
    for (int id : conv_.left) left[id] = input(id, inside);
    for (const Tuple& result : results) {
      const Tuple tap =
          each([&](int d) { return slides_[d].tap(conv_.dims[d], result[d], at[d]); });
      if (std::count_if(tap.begin(), tap.end(), [](int64_t t) { return t < 0; }) > 0) continue;
      for (int64_t f = 0; f < filters_; ++f) {
        const std::vector<std::string>& names = sums.at({result, f});
        for (size_t i = 0; i < names.size(); ++i) {
          const Node& node = graph_.nodes[conv_.products[i]];
          kernel_.line(names[i] + " += " + left.at(node.operands[0]) + " * " +
                       weights_.at({node.operands[1], f, tap}));
        }
      }
    }
    for (int d = 0; d < conv_.rank(); ++d) body_.set_mask(2 + d, "");
    body_.close_scope();
  }

  // Writes what follows one result of a place.
  void store_results(const Tuple& result, int64_t f, const std::vector<std::string>& sums) {
    body_.open_scope();
    bind_filter(f);
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      const int64_t results = slides_[d].results;
      if (dim.out_size == 1) continue;
      std::string o = index_name("o", d);
      if (results > 1) {
        const Expr place = o;
        o = kernel_.unique(o + "_" + std::to_string(result[d]));
        kernel_.line(o, place * results + result[d]);
      }
      if (dim.out_size % results != 0) {
        const std::string name =
            kernel_.unique(index_name("inside", d) + "_" + std::to_string(result[d]));
        kernel_.line(name + " = " + o + " < " +
                     kernel_.scalar(index_name("out_", d), size_text(graph_, dim.out)));
        body_.set_mask(2 + d, name);
      }
      body_.bind_flat(leaf_loops(graph_, dim.out), {o, position_dim() | (4u << d)}, o);
    }
    for (size_t i = 0; i < sums.size(); ++i) body_.assign(conv_.products[i], sums[i]);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) body_.store(static_cast<int>(i));
    for (int d = 0; d < conv_.rank(); ++d) body_.set_mask(2 + d, "");
    body_.close_scope();
  }

  // Returns the number of places along a dimension, as host code.
  std::string places_text(int d) const {
    const std::string size = size_text(graph_, conv_.dims[d].out);
    const int64_t results = slides_[d].results;
    return results > 1 ? "triton.cdiv(" + size + ", " + std::to_string(results) + ")" : size;
  }

  unsigned position_dim() const { return schedule_.channels_inside ? 1 : 2; }
  unsigned channel_dim() const { return schedule_.channels_inside ? 2 : 1; }

  std::vector<Loop> channel_loops() const {
    std::vector<Loop> out = conv_.group;
    if (filters_ == 1) out.insert(out.end(), conv_.filter.begin(), conv_.filter.end());
    return out;
  }

  void place() {
    const std::vector<Loop> channels = channel_loops();
    std::string positions;
    for (int d = 0; d < conv_.rank(); ++d) {
      if (conv_.dims[d].out_size == 1) continue;
      const std::string size = places_text(d);
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
    const std::string wide = subject_.table.needs_int64() ? ".to(tl.int64)" : "";
    // Tiles of one row of tiles follow each other.
    const std::string tiles = kernel_.unique("tiles");
    kernel_.line(tiles + " = tl.cdiv(" + n_cols + ", BLOCK_C)");
    const Expr program = "tl.program_id(0)";
    const Expr row = (program / tiles).bracketed().with(wide) * "BLOCK_R" + "tl.arange(0, BLOCK_R)";
    const Expr col = (program % tiles).bracketed().with(wide) * "BLOCK_C" + "tl.arange(0, BLOCK_C)";
    kernel_.line("rows", row.with("[:, None]"));
    kernel_.line("cols", col.with("[None, :]"));
    kernel_.line("row_mask = rows < " + n_rows);
    kernel_.line("col_mask = cols < " + n_cols);
    body_.set_mask(0, "row_mask");
    body_.set_mask(1, "col_mask");
    body_.unit_index = "rows";
    Expr rest = "rows";
    if (schedule_.channels_inside) {
      if (!channels.empty()) body_.bind_flat(channels, {"cols", 2}, "c");
      rest = place_positions("rows", !conv_.batch.empty());
    } else {
      place_positions("cols", false);
      for (size_t i = channels.size(); i-- > 0;) {
        const bool last = i == 0 && conv_.batch.empty();
        const std::string name = kernel_.unique("c" + std::to_string(i));
        if (last) {
          kernel_.line(name, rest);
        } else {
          const Expr size = kernel_.scalar("channels", size_text(graph_, channels[i].axes));
          kernel_.line(name, rest % size);
          rest = rest / size;
        }
        body_.bind(channels[i], {name, 1});
      }
    }
    if (!conv_.batch.empty()) {
      const std::string b = kernel_.unique("b");
      kernel_.line(b, rest);
      body_.bind_flat(conv_.batch, {b, 1}, "b");
    }
    kernel_.launch({host_cdiv(n_rows, schedule_.rows) + " * " + host_cdiv(n_cols, schedule_.cols)},
                   schedule_.warps, 0);
  }

  // Names the position along each dimension; returns what is left of the index.
  Expr place_positions(const Expr& flat, bool more) {
    Expr rest = flat;
    int outermost = 0;
    while (outermost < conv_.rank() && conv_.dims[outermost].out_size == 1) ++outermost;
    for (int d = conv_.rank(); d-- > 0;) {
      const ConvDim& dim = conv_.dims[d];
      if (dim.out_size == 1) continue;
      const std::string o = index_name("o", d);
      if (d == outermost && !more) {
        kernel_.line(o, rest);
      } else {
        const bool several = slides_[d].results > 1;
        const Expr size =
            kernel_.scalar(index_name(several ? "places_" : "out_", d), places_text(d));
        kernel_.line(o, rest % size);
        rest = rest / size;
      }
      if (schedule_.together) continue;  // bound where they are stored
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

  // Opens loops over channels and window; returns how many. Small windows are unrolled.
  int open_loops() {
    int depth = open_channels();
    const char* range = conv_.taps() <= 32 ? "tl.static_range" : "range";
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      if (dim.kernel_size == 1) continue;
      kernel_.constexpr_parameter(index_name("K", d), kernel_size_text(graph_, dim));
      kernel_.open("for " + index_name("k", d) + " in " + range + "(" + index_name("K", d) + "):");
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
      const std::string i = index_name("i", d);
      if (!dim.kernel.empty()) {
        body_.bind_flat(leaf_loops(graph_, dim.kernel), {index_name("k", d), 0},
                        index_name("k", d));
      }
      const std::string condition = place_position(d);
      const unsigned dims = (dim.out_size > 1 ? position_dim() : 0) | (4u << d);
      if (!dim.in.empty()) body_.bind_flat(leaf_loops(graph_, dim.in), {i, dims}, i);
      if (condition.empty()) continue;
      const std::string name = index_name("inside", d);
      kernel_.line(name + " = " + condition);
      body_.set_mask(2 + d, name);
      inside += (inside.empty() ? "" : " & ") + name;
    }
    return inside;
  }

  // Prints the input position along a dimension; returns when there is one.
  std::string place_position(int d) {
    const ConvDim& dim = conv_.dims[d];
    const std::string i = index_name("i", d);
    const std::string o = dim.out_size > 1 ? index_name("o", d) : "";
    const std::string k = dim.kernel_size > 1 ? index_name("k", d) : "";
    std::string condition;
    if (dim.transposed && dim.stride > 1) {
      // A result is at the input position times the stride plus the tap times the dilation.
      // ptxas (12.8 and 13.0, but not with -O0) gets some integer quotients and remainders in
      // predicates wrong, however they are written (bench/predicates.py). So this is a quotient of
      // floats. Half a unit away from integers it is exact up to 2^21, except that it is cut
      // towards zero: negative numbers become no multiples by that.
      if (dim.out_size > int64_t{1} << 21) throw Refusal{"too long for float32 positions"};
      const std::string s = std::to_string(dim.stride), multiple = index_name("multiple", d);
      kernel_.line(multiple + " = " + window_position(dim, o, k));
      kernel_.line(i + " = " +
                   (o.empty() ? multiple + " // " + s
                              : "((" + multiple + " + 0.5) * (1.0 / " + s + ")).to(tl.int32)"));
      condition = "(" + i + " >= 0) & (" + i + " * " + s + " == " + multiple + ")";
    } else {
      kernel_.line(i + " = " + window_position(dim, o, k));
      if (!dim.leaves_input()) return "";
      condition = "(" + i + " >= 0)";
    }
    const std::string size =
        dim.in_size == 1 ? "1" : kernel_.scalar(index_name("in_", d), size_text(graph_, dim.in));
    return condition + " & (" + i + " < " + size + ")";
  }

  // Returns the input there, 0 outside.
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
  const std::vector<Slide> slides_;  // by dimension
  const int64_t filters_;            // output channels of a place
  KernelText kernel_;
  Body body_;
  std::map<std::tuple<int, int64_t, Tuple>, std::string> weights_;  // node, filter, tap
};

}  // namespace

Written write_stencil(const Subject& subject, const Convolution& conv,
                      const StencilSchedule& schedule) {
  return StencilKernel(subject, conv, schedule).write();
}

}  // namespace kw::teacher
