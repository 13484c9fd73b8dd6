// The implicit matrix product of a convolution. No matrix of windows is ever in memory: each step
// along K works out where its elements of the input are.
#include <algorithm>
#include <map>

#include "teacher/emit/body.h"
#include "teacher/family/convolution.h"

namespace kw::teacher {
namespace {

std::string product_of(const std::vector<std::string>& factors) {
  std::string out;
  for (const std::string& f : factors) {
    if (f != "1") out += (out.empty() ? "" : " * ") + f;
  }
  return out.empty() ? "1" : out;
}

class ConvolutionKernel {
 public:
  ConvolutionKernel(const Subject& subject, const Convolution& conv, const ConvSchedule& schedule)
      : subject_(subject),
        graph_(subject.graph),
        conv_(conv),
        schedule_(schedule),
        kernel_("convolution"),
        body_(subject.graph, subject.table, subject.program, kernel_) {
    wide_ = needs_int64() ? ".to(tl.int64)" : "";
    const std::string batch = total_text(graph_, conv.batch);
    std::vector<std::string> rows = {batch};
    int64_t row_total = total_size(conv.batch);
    for (const ConvDim& dim : conv.dims) {
      rows.push_back(row_count(dim));
      row_total *= cdiv(dim.out_size, conv.phased ? phase_of(dim).count : 1);
    }
    shape_ = {row_total,
              total_size(conv.filter),
              product_of(rows),
              total_text(graph_, conv.filter),
              conv.group.empty() ? "" : total_text(graph_, conv.group),
              !wide_.empty(),
              schedule.flipped};
    m_dim_ = schedule.flipped ? 1 : 0;
    n_dim_ = 1 - m_dim_;
    for (int d = 0; d < conv.rank(); ++d) {
      for (const char* base : {"o", "k", "i", "r", "tap", "base", "taps", "shift", "inside"}) {
        kernel_.unique(index_name(base, d));
      }
    }
  }

  Written write() {
    kernel_.describe(subject_.operators + ": a tile of positions and channels a program.");
    place(schedule_.tile);
    kernel_.constexpr_parameter("BLOCK_K", std::to_string(schedule_.tile.k));
    for (const char* name :
         {"step", "tap", "tap_rest", "taps", "c", "c_a", "c_b", "c_a_mask", "c_b_mask", "c_blocks",
          "k", "k_a", "k_b", "k_a_mask", "k_b_mask", "phase"}) {
      kernel_.unique(name);
    }
    std::vector<std::string> sums;
    for (int id : conv_.products) {
      sums.push_back(kernel_.unique(graph_.nodes[id].name));
      kernel_.line(sums.back() + " = " + shape_.zeros());
    }
    if (schedule_.walk == Walk::kTaps) {
      walk_taps(sums);
    } else {
      walk_flat(sums);
    }
    kernel_.close();
    Written written = copies();
    const std::string tiles = tile_grid(kernel_, shape_, schedule_.tile);
    std::vector<std::string> grid = {tiles};
    if (conv_.phased) grid.push_back(std::to_string(phases()));
    if (schedule_.splits > 1) grid.push_back(std::to_string(schedule_.splits));
    kernel_.launch(grid, schedule_.tile.warps, schedule_.tile.stages);
    if (schedule_.splits == 1) {
      finish(sums);
      written.kernels.push_back(std::move(kernel_));
      return written;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      store_partial(kernel_, shape_, static_cast<int>(i), sums[i]);
      written.scratch.push_back(partial_scratch(shape_, static_cast<int>(i), schedule_.splits));
    }
    written.kernels.push_back(std::move(kernel_));
    written.kernels.push_back(ConvolutionKernel(subject_, conv_, schedule_).joining());
    return written;
  }

 private:
  // Returns the kernel that adds up what the splits left.
  KernelText joining() {
    const GemmTile tile = joining_tile(schedule_.tile);
    kernel_.describe(subject_.operators + ": sums of parts, and what follows.");
    place(tile);
    std::vector<std::string> sums;
    for (size_t i = 0; i < conv_.products.size(); ++i) {
      sums.push_back(load_partials(kernel_, shape_, static_cast<int>(i), schedule_.splits,
                                   graph_.nodes[conv_.products[i]].name));
    }
    finish(sums);
    kernel_.launch({tile_grid(kernel_, shape_, tile)}, tile.warps, 0);
    return std::move(kernel_);
  }

  void finish(const std::vector<std::string>& sums) {
    for (size_t i = 0; i < sums.size(); ++i) {
      // One row or column, which results do not vary along.
      if (conv_.batch.empty() && first_moving() < 0) fold(sums[i], "m_mask", m_dim_);
      if (conv_.filter.empty()) fold(sums[i], "n_mask", n_dim_);
      body_.assign(conv_.products[i], sums[i]);
    }
    set_masks("m_mask", "n_mask");
    for (size_t i = 0; i < graph_.outputs.size(); ++i) body_.store(static_cast<int>(i));
  }

  void fold(const std::string& sum, const std::string& mask, int dim) {
    kernel_.line(sum + " = tl.sum(tl.where(" + mask + ", " + sum +
                 ", 0.0), axis=" + std::to_string(dim) + ", keep_dims=True)");
  }

  bool needs_int64() const {
    constexpr int64_t kLimit = (int64_t{1} << 31) - (int64_t{1} << 24);
    const int64_t images = total_size(conv_.batch) * total_size(conv_.group);
    int64_t inputs = images * total_size(conv_.channel);
    for (const ConvDim& dim : conv_.dims) inputs *= dim.in_size;
    const int64_t sums = images * conv_.positions() * total_size(conv_.filter) * schedule_.splits;
    return subject_.table.needs_int64() || std::max(inputs, sums) >= kLimit;
  }

  // Returns the rows of one phase along a dimension.
  std::string row_count(const ConvDim& dim) const {
    if (dim.out_size == 1) return "1";
    const std::string size = size_text(graph_, dim.out);
    const int64_t count = conv_.phased ? phase_of(dim).count : 1;
    return count == 1 ? size : host_cdiv(size, count);
  }

  int64_t phases() const {
    int64_t out = 1;
    for (const ConvDim& dim : conv_.dims) out *= phase_of(dim).count;
    return out;
  }

  // Prints which tile this is, and what its rows and columns are.
  void place(const GemmTile& tile) {
    place_tile(kernel_, shape_, tile);
    set_masks("m_mask", "n_mask");
    body_.unit_index = "m";
    if (!conv_.group.empty()) body_.bind_flat(conv_.group, {"batch", 0}, "g");
    if (!conv_.filter.empty()) body_.bind_flat(conv_.filter, {"n", bit(n_dim_)}, "n");
    place_phase();
    Expr rest = "m";
    std::string mask;
    for (int d = conv_.rank(); d-- > 0;) {
      const ConvDim& dim = conv_.dims[d];
      if (dim.out_size == 1) continue;
      const std::string o = index_name("o", d);
      const bool outermost = conv_.batch.empty() && first_moving() == d;
      Expr position = rest;
      if (!outermost) {
        const Expr size = kernel_.scalar(index_name("rows_", d), row_count(dim));
        position = rest % size;
        rest = rest / size;
      }
      const int64_t count = conv_.phased ? phase_of(dim).count : 1;
      if (count > 1) {
        rows_.insert_or_assign(d, position);
        position = position.bracketed() * count + index_name("r", d);
        const std::string size = kernel_.scalar(index_name("out_", d), size_text(graph_, dim.out));
        mask += " & (" + o + " < " + size + ")";
      }
      kernel_.line(o, position);
      body_.bind_flat(leaf_loops(graph_, dim.out), {o, bit(m_dim_)}, o);
    }
    if (!mask.empty()) kernel_.line("m_mask = m_mask" + mask);
    if (!conv_.batch.empty()) {
      batch_ = "m";
      if (rest.text() != batch_) {
        batch_ = "b";
        kernel_.line(kernel_.unique(batch_), rest);
      }
      body_.bind_flat(conv_.batch, {batch_, bit(m_dim_)}, "b");
    }
  }

  int first_moving() const {
    for (int d = 0; d < conv_.rank(); ++d) {
      if (conv_.dims[d].out_size > 1) return d;
    }
    return -1;
  }

  // Prints the remainders of this program's positions.
  void place_phase() {
    if (!conv_.phased) return;
    kernel_.line("phase = tl.program_id(1)");
    Expr rest = "phase";
    for (int d = conv_.rank(); d-- > 0;) {
      const int64_t count = phase_of(conv_.dims[d]).count;
      if (count == 1) continue;
      kernel_.line(index_name("r", d), rest % count);
      rest = rest / count;
    }
  }

  // Prints, for a transposed convolution, how many kernel positions each dimension has here, the
  // first of them, and the input position that this one meets.
  void place_bases() {
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      const Phase phase = phase_of(dim);
      const std::string k = index_name("k", d), o = dim.out_size > 1 ? index_name("o", d) : "0";
      const std::string size = kernel_size(d);
      std::string taps = size, start = "0";
      if (dim.stride > 1) {
        const std::string r = phase.count > 1 ? index_name("r", d) : "0";
        const std::string common = std::to_string(phase.common), step = std::to_string(phase.step);
        const std::string t = index_name("shift", d);
        kernel_.line(t + " = " + r + " + " + std::to_string(dim.padding));
        if (phase.step > 1) {
          start = k + "_first";
          kernel_.line(start + " = " + (phase.common > 1 ? t + " // " + common : t) +
                       (phase.inverse > 1 ? " * " + std::to_string(phase.inverse) : "") + " % " +
                       step);
          taps =
              "(" + size + " - " + start + " + " + std::to_string(phase.step - 1) + ") // " + step;
        }
        if (phase.common > 1) {
          taps = "tl.where(" + t + " % " + common + " == 0, " + taps + ", 0)";
        }
      }
      kernel_.line(index_name("taps", d) + " = " + taps);
      std::string base;
      if (rows_.contains(d)) {
        // Whole strides are divided already. The rest of the quotient is the same for all rows.
        base = index_name("shift", d);
        if (start != "0") {
          base = "(" + base + " - " + start +
                 (dim.dilation > 1 ? " * " + std::to_string(dim.dilation) : "") + ")";
        }
        base += " // " + std::to_string(dim.stride) + " + " + rows_.at(d).text();
      } else {
        base = window_position(dim, o, start);
        if (dim.stride > 1) base = "(" + base + ") // " + std::to_string(dim.stride);
      }
      kernel_.line(index_name("base", d) + " = " + base);
      first_[d] = start;
    }
  }

  std::string kernel_size(int d) {
    const ConvDim& dim = conv_.dims[d];
    if (dim.kernel_size == 1) return "1";
    const std::string name = index_name("K", d);
    if (!declared_[d]) kernel_.constexpr_parameter(name, kernel_size_text(graph_, dim));
    declared_[d] = true;
    return name;
  }

  std::string channels() { return kernel_.scalar("C", total_text(graph_, conv_.channel)); }

  // Sets masks of the sides that M and N are on. In tiles of operands K replaces one of them.
  void set_masks(const std::string& m_side, const std::string& n_side) {
    body_.set_mask(m_dim_, m_side);
    body_.set_mask(n_dim_, n_side);
  }
  static unsigned bit(int dim) { return 1u << dim; }
  static std::string along(int dim) { return dim == 0 ? "[:, None]" : "[None, :]"; }

  // ---- K by positions of the window, channels inside

  void walk_taps(const std::vector<std::string>& sums) {
    const bool transposed = conv_.dims[0].transposed;
    std::vector<std::string> counts;
    if (transposed) place_bases();
    for (int d = 0; d < conv_.rank(); ++d) {
      counts.push_back(transposed ? index_name("taps", d) : kernel_size(d));
    }
    std::string steps = product_of(counts);
    const bool several = !conv_.channel.empty();
    if (several) {
      kernel_.line("c_blocks = tl.cdiv(" + channels() + ", BLOCK_K)");
      steps = steps == "1" ? "c_blocks" : steps + " * c_blocks";
    }
    open_walk(kernel_, "step", steps, "", schedule_.splits);
    kernel_.line("tap", Expr("step") / (several ? "c_blocks" : "1"));
    kernel_.line("c = (" + std::string(several ? "step % c_blocks * BLOCK_K + " : "") +
                 "tl.arange(0, BLOCK_K))" + wide_);
    Expr rest = "tap";
    int outermost = 0;
    while (outermost + 1 < conv_.rank() && conv_.dims[outermost].kernel_size == 1) ++outermost;
    for (int d = conv_.rank(); d-- > 0;) {
      if (conv_.dims[d].kernel_size == 1) continue;
      const std::string t = index_name(transposed ? "tap" : "k", d);
      kernel_.line(t, d == outermost ? rest : rest % counts[d]);
      rest = rest / counts[d];
    }
    std::vector<std::string> positions;
    for (int d = 0; d < conv_.rank(); ++d) positions.push_back(tap_position(d));
    dots(sums, positions, "c");
  }

  // Prints the input position of a dimension for the current tap.
  std::string tap_position(int d) {
    const ConvDim& dim = conv_.dims[d];
    const std::string o = dim.out_size > 1 ? index_name("o", d) : "", k = index_name("k", d);
    const std::string i = index_name("i", d);
    if (!dim.transposed) {
      kernel_.line(i + " = " + window_position(dim, o, dim.kernel_size > 1 ? k : ""));
      return i;
    }
    const Phase phase = phase_of(dim);
    const Expr base = index_name("base", d), t = index_name("tap", d);
    if (dim.kernel_size == 1) return base.text();
    kernel_.line(k, first_[d] + t * phase.step);
    kernel_.line(i, base - t * phase.back);
    return i;
  }

  // ---- K in one row

  void walk_flat(const std::vector<std::string>& sums) {
    std::vector<std::string> sizes;
    for (int d = 0; d < conv_.rank(); ++d) sizes.push_back(kernel_size(d));
    if (!conv_.channel.empty()) sizes.push_back(channels());
    open_walk(kernel_, "step", product_of(sizes), "BLOCK_K", schedule_.splits);
    kernel_.line("k = (step + tl.arange(0, BLOCK_K))" + wide_);
    flat_end_ = product_of(sizes);
    std::vector<std::string> positions(conv_.rank());
    dots(sums, positions, "k");
  }

  // Names the parts of the flat index: kernel positions and the channel.
  void bind_row(const std::string& flat, const std::string& suffix, unsigned dims) {
    Expr rest = flat;
    auto take = [&](const std::string& name, const Expr& size, bool last) {
      kernel_.line(name, last ? rest : rest % size);
      rest = rest / size;
    };
    const bool channels_inside = schedule_.kernel_first || conv_.channel.empty();
    if (!conv_.channel.empty() && channels_inside) {
      take("c" + suffix, channels(), conv_.taps() == 1);
    }
    int outermost = 0;
    while (outermost + 1 < conv_.rank() && conv_.dims[outermost].kernel_size == 1) ++outermost;
    for (int d = conv_.rank(); d-- > 0;) {
      if (conv_.dims[d].kernel_size == 1) continue;
      take(index_name("k", d) + suffix, kernel_size(d), channels_inside && d == outermost);
    }
    if (!conv_.channel.empty()) {
      if (!channels_inside) take("c" + suffix, channels(), true);
      body_.bind_flat(conv_.channel, {"c" + suffix, dims}, "c");
    }
  }

  // Names the parts of the flat index for the weight: one loop if the weight is in that order.
  void bind_weight_row() {
    Axes row;
    for (const Loop& loop : conv_.channel)
      row.insert(row.end(), loop.axes.begin(), loop.axes.end());
    const size_t at = schedule_.kernel_first ? 0 : row.size();
    Axes window;
    for (const ConvDim& dim : conv_.dims) {
      window.insert(window.end(), dim.kernel.begin(), dim.kernel.end());
    }
    row.insert(row.begin() + static_cast<long>(at), window.begin(), window.end());
    if (walk_as_one(subject_, conv_.right, row)) {
      body_.bind({row, graph_.axes.size(row)}, {"k_b", bit(m_dim_)});
      return;
    }
    bind_row("k_b", "_b", bit(m_dim_));
    for (int d = 0; d < conv_.rank(); ++d) {
      const Axes& kernel = conv_.dims[d].kernel;
      const std::string name = index_name("k", d) + "_b";
      if (!kernel.empty()) {
        body_.bind_flat(leaf_loops(graph_, kernel), {name, bit(m_dim_)}, name);
      }
    }
  }

  // ---- One step: tiles of both sides and their products. `k` is the index along BLOCK_K.

  void dots(const std::vector<std::string>& sums, std::vector<std::string> positions,
            const std::string& k) {
    const std::string end = k == "c" ? (conv_.channel.empty() ? "1" : channels()) : flat_end_;
    const auto left = left_tiles(positions, k, end);
    const auto right = right_tiles(k, end);
    for (size_t i = 0; i < sums.size(); ++i) {
      const Node& node = graph_.nodes[conv_.products[i]];
      const std::string &x = left.at(node.operands[0]), &w = right.at(node.operands[1]);
      kernel_.line(sums[i] + " = tl.dot(" + (schedule_.flipped ? w + ", " + x : x + ", " + w) +
                   ", " + sums[i] +
                   (schedule_.precision.empty()
                        ? ")"
                        : ", input_precision=\"" + schedule_.precision + "\")"));
    }
  }

  std::map<int, std::string> left_tiles(std::vector<std::string> positions, const std::string& k,
                                        const std::string& end) {
    const std::string mask = k + "_a_mask";
    kernel_.line(k + "_a = " + k + along(n_dim_));
    kernel_.line(mask + " = " + k + "_a < " + end);
    body_.open_scope();
    if (k == "k") {
      bind_row("k_a", "_a", bit(n_dim_));
      for (int d = 0; d < conv_.rank(); ++d) {
        const ConvDim& dim = conv_.dims[d];
        positions[d] = index_name("i", d);
        kernel_.line(positions[d] + " = " +
                     window_position(dim, dim.out_size > 1 ? index_name("o", d) : "",
                                     dim.kernel_size > 1 ? index_name("k", d) + "_a" : ""));
      }
    } else if (!conv_.channel.empty()) {
      body_.bind_flat(conv_.channel, {"c_a", bit(n_dim_)}, "c");
    }
    set_masks("m_mask", mask);
    const std::string inside = inside_mask(positions);
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      unsigned dims = 4u << d;
      if (dim.out_size > 1) dims |= bit(m_dim_);
      if (dim.kernel_size > 1 && k == "k") dims |= bit(n_dim_);
      if (!dim.in.empty()) {
        body_.bind_flat(leaf_loops(graph_, dim.in), {positions[d], dims}, positions[d]);
      }
    }
    std::map<int, std::string> out;
    for (size_t i = 0; i < conv_.left.size(); ++i) {
      const int id = conv_.left[i];
      out[id] = schedule_.turned_input ? turned_input(static_cast<int>(i), positions, inside)
                                       : tile_of(id, "x", mask, inside, masked_load(id));
    }
    body_.close_scope();
    for (int d = 0; d < conv_.rank(); ++d) body_.set_mask(2 + d, "");
    return out;
  }

  std::map<int, std::string> right_tiles(const std::string& k, const std::string& end) {
    const std::string mask = k + "_b_mask";
    kernel_.line(k + "_b = " + k + along(m_dim_));
    kernel_.line(mask + " = " + k + "_b < " + end);
    body_.open_scope();
    if (k == "k") {
      bind_weight_row();
    } else if (!conv_.channel.empty()) {
      body_.bind_flat(conv_.channel, {"c_b", bit(m_dim_)}, "c");
    }
    for (int d = 0; k != "k" && d < conv_.rank(); ++d) {
      const Axes& kernel = conv_.dims[d].kernel;
      const std::string name = index_name("k", d);
      if (!kernel.empty()) body_.bind_flat(leaf_loops(graph_, kernel), {name, 0}, name);
    }
    set_masks(mask, "n_mask");
    std::map<int, std::string> out;
    for (size_t i = 0; i < conv_.right.size(); ++i) {
      const int id = conv_.right[i];
      const Node& node = graph_.nodes[id];
      const bool plain = node.kind == NodeKind::kLoad && node.operands.empty() &&
                         !conv_.filter.empty() && (!conv_.channel.empty() || k == "k");
      out[id] = schedule_.turned_weight ? turned_weight(static_cast<int>(i))
                                        : tile_of(id, "w", mask, "", plain);
    }
    body_.close_scope();
    return out;
  }

  // Returns the mask of where the window lies in the input; empty if it always does. The mask of a
  // dimension guards what varies with a position along it.
  std::string inside_mask(const std::vector<std::string>& positions) {
    std::string out;
    for (int d = 0; d < conv_.rank(); ++d) {
      const ConvDim& dim = conv_.dims[d];
      if (!dim.leaves_input()) continue;
      const std::string size =
          dim.in_size == 1 ? "1" : kernel_.scalar(index_name("in_", d), size_text(graph_, dim.in));
      const std::string name = index_name("inside", d);
      kernel_.line(name + " = (" + positions[d] + " >= 0) & (" + positions[d] + " < " + size + ")");
      body_.set_mask(2 + d, name);
      out += (out.empty() ? "" : " & ") + name;
    }
    return out;
  }

  // Returns whether a load with its masks gives a whole tile with 0 wherever the product needs 0.
  bool masked_load(int id) const {
    const Node& node = graph_.nodes[id];
    if (node.kind != NodeKind::kLoad || !node.operands.empty()) return false;
    bool rows = false, cols = !conv_.channel.empty();
    for (const Loop& loop : conv_.batch) rows |= varies(node, loop.axes);
    for (const ConvDim& dim : conv_.dims) {
      if (dim.leaves_input() && !varies(node, dim.in)) return false;
      rows |= dim.out_size > 1 && varies(node, dim.in);
      cols |= schedule_.walk == Walk::kFlat && dim.kernel_size > 1 && varies(node, dim.in);
    }
    return rows && cols;
  }

  static bool varies(const Node& node, const Axes& axes) {
    return !set_intersection(node.varies, axes).empty();
  }

  std::string tile_of(int id, const std::string& hint, const std::string& mask,
                      const std::string& inside, bool plain) {
    const std::string text =
        operand_text(kernel_, body_.stored_value(id, conv_.operand), schedule_);
    if (plain) return text;
    const std::string name = kernel_.unique(hint);
    const bool left = hint == "x";
    const std::string m_side = left ? "BLOCK_M" : "BLOCK_K", n_side = left ? "BLOCK_K" : "BLOCK_N";
    const std::string shape =
        schedule_.flipped ? "(" + n_side + ", " + m_side + ")" : "(" + m_side + ", " + n_side + ")";
    const std::string where = inside.empty() ? mask : mask + " & " + inside;
    const std::string element = std::string(triton_name(conv_.operand));
    kernel_.line(name + " = tl.where(" + where + ", " + text + ", tl.zeros(" + shape + ", " +
                 element + "))");
    return name;
  }

  // ---- Operands that were turned

  std::string turned_input(int index, const std::vector<std::string>& positions,
                           const std::string& inside) {
    std::string row = batch_;
    for (int d = 0; d < conv_.rank(); ++d) {
      if (conv_.dims[d].in.empty()) continue;
      const std::string size =
          kernel_.scalar(index_name("in_", d), size_text(graph_, conv_.dims[d].in));
      row = row.empty() ? positions[d] : "(" + row + ") * " + size + " + " + positions[d];
    }
    std::vector<std::string> widths;
    if (!conv_.group.empty()) widths.push_back(total_text(graph_, conv_.group));
    if (!conv_.channel.empty()) widths.push_back(total_text(graph_, conv_.channel));
    const std::string width = product_of(widths);
    std::string where = row;
    if (!where.empty() && width != "1") {
      where = "(" + where + ") * " + kernel_.scalar("width", width);
    }
    bool rows = !conv_.batch.empty();
    for (const ConvDim& dim : conv_.dims) rows |= dim.out_size > 1 && !dim.in.empty();
    where += (where.empty() ? "" : " + ") + channel_index("c_a") + (rows ? "" : " + m * 0");
    const std::string name = kernel_.unique("x"), source = "input" + std::to_string(index);
    const std::string mask = "m_mask & c_a_mask" + (inside.empty() ? "" : " & " + inside);
    kernel_.line(name + " = tl.load(" + kernel_.pointer(source + "_ptr", source) + " + " + where +
                 ", mask=" + mask + ", other=0.0)");
    return name;
  }

  std::string channel_index(const std::string& c) {
    if (conv_.group.empty()) return c;
    return (Expr("batch") * (conv_.channel.empty() ? "1" : channels()) + c).text();
  }

  std::string turned_weight(int index) {
    std::string tap;
    for (int d = 0; d < conv_.rank(); ++d) {
      if (conv_.dims[d].kernel_size == 1) continue;
      tap = tap.empty() ? index_name("k", d)
                        : "(" + tap + ") * " + kernel_size(d) + " + " + index_name("k", d);
    }
    std::string row = tap;
    if (!conv_.group.empty()) {
      const std::string groups = kernel_.scalar("groups", total_text(graph_, conv_.group));
      row = row.empty() ? "batch" : "((" + row + ") * " + groups + " + batch)";
    }
    const std::string n = kernel_.size("N", shape_.n);
    if (!row.empty()) row = (row == tap ? "(" + row + ")" : row) + " * " + n + " + ";
    std::string where = "(" + row + "n)";
    if (!conv_.channel.empty()) where += " * " + channels();
    where += " + c_b";
    const std::string name = kernel_.unique("w"), source = "weight" + std::to_string(index);
    kernel_.line(name + " = tl.load(" + kernel_.pointer(source + "_ptr", source) + " + " + where +
                 ", mask=c_b_mask & n_mask, other=0.0)");
    return name;
  }

  Written copies() const {
    Written out;
    for (size_t i = 0; schedule_.turned_input && i < conv_.left.size(); ++i) {
      out.kernels.push_back(turned_input_kernel(subject_, conv_, schedule_, static_cast<int>(i)));
      out.scratch.push_back(turned_input_scratch(subject_, conv_, static_cast<int>(i)));
    }
    for (size_t i = 0; schedule_.turned_weight && i < conv_.right.size(); ++i) {
      out.kernels.push_back(turned_weight_kernel(subject_, conv_, schedule_, static_cast<int>(i)));
      out.scratch.push_back(turned_weight_scratch(subject_, conv_, static_cast<int>(i)));
    }
    return out;
  }

  const Subject& subject_;
  const Graph& graph_;
  const Convolution& conv_;
  const ConvSchedule schedule_;
  KernelText kernel_;
  Body body_;
  GemmShape shape_;
  int m_dim_ = 0, n_dim_ = 1;  // sides of a tile
  std::string wide_, batch_, flat_end_;
  std::map<int, bool> declared_;
  std::map<int, std::string> first_;  // transposed: the first kernel position
  std::map<int, Expr> rows_;          // transposed: positions by strides
};

}  // namespace

Written write_convolution(const Subject& subject, const Convolution& conv,
                          const ConvSchedule& schedule) {
  return ConvolutionKernel(subject, conv, schedule).write();
}

}  // namespace kw::teacher
