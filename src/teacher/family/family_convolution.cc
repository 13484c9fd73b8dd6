// Schedules of convolutions as implicit matrix products.
//
// By PyTorch's defaults fp32 convolutions are TF32 on a GPU if cuDNN has a kernel for that. If it
// takes another algorithm, they are as exact as IEEE fp32. So this offers both "tf32" and "tf32x3",
// and the verifier decides. Operands in TF32 are rounded as they are copied or loaded. TF32 tensor
// cores want channels contiguous in both operands: copies with channels innermost (turned) cost a
// pass over memory and win it back.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "teacher/family/convolution.h"

namespace kw::teacher {
namespace {

// What a schedule's operands look like in memory.
struct Layout {
  bool input_inner = false;  // the input is read as it is, channels contiguous
  bool weight_inner = false;
  bool kernel_inner = false;                       // the weight's innermost dimension is the window
  bool input_plain = false, weight_plain = false;  // loads without arithmetic
  bool result_by_positions = false;                // the largest result is contiguous along these
};

bool contiguous_along(const Subject& subject, int node, const std::vector<Loop>& loops) {
  if (loops.empty() || !is_loaded(subject.graph.nodes[node])) return false;
  const LeafStride* s = loop_stride(subject.table.of_node(node), loops.back());
  return s && s->stride == 1;
}

Layout layout_of(const Subject& subject, const Convolution& conv) {
  Layout out{true, true, false, true, true, true};
  for (const Access& access : subject.table.accesses) {
    if (access.kind != Access::Kind::kStore) continue;
    for (const auto* loops : {&conv.filter, &conv.group}) {
      const LeafStride* s = loops->empty() ? nullptr : loop_stride(access, loops->back());
      if (s && s->stride == 1) out.result_by_positions = false;
    }
    break;
  }
  for (int id : conv.left) {
    out.input_inner &= contiguous_along(subject, id, conv.channel);
    out.input_plain &= is_loaded(subject.graph.nodes[id]);
  }
  for (int id : conv.right) {
    out.weight_inner &= contiguous_along(subject, id, conv.channel);
    out.weight_plain &= is_loaded(subject.graph.nodes[id]);
    for (const ConvDim& dim : conv.dims) {
      out.kernel_inner |= contiguous_along(subject, id, leaf_loops(subject.graph, dim.kernel));
    }
  }
  return out;
}

int64_t input_elements(const Convolution& conv) {
  int64_t out = total_size(conv.batch) * total_size(conv.group) * total_size(conv.channel);
  for (const ConvDim& dim : conv.dims) out *= dim.in_size;
  return out;
}

class Model {
 public:
  Model(const Subject& subject, const Convolution& conv)
      : subject_(subject), conv_(conv), layout_(layout_of(subject, conv)) {
    for (const ConvDim& dim : conv.dims) {
      phases_ *= conv.phased ? phase_of(dim).count : 1;
      rows_ *= conv.phased ? cdiv(dim.out_size, phase_of(dim).count) : dim.out_size;
    }
    rows_ *= total_size(conv.batch);
  }

  const Layout& layout() const { return layout_; }
  int64_t rows() const { return rows_; }

  int64_t programs(const GemmTile& tile) const {
    return total_size(conv_.group) * phases_ * cdiv(rows_, tile.m) *
           cdiv(total_size(conv_.filter), tile.n);
  }

  // Steps of the loop over K.
  int64_t steps(const ConvSchedule& s) const {
    const int64_t channels = total_size(conv_.channel);
    if (s.walk == Walk::kFlat) return cdiv(channels * conv_.taps(), s.tile.k);
    return cdiv(conv_.taps(), phases_) * cdiv(channels, s.tile.k);
  }

  bool fits(const ConvSchedule& s) const {
    // tf32x3 multiplies two parts of each operand.
    const int parts = s.precision == "tf32x3" ? 2 : 1;
    auto bytes = [&](const std::vector<int>& operands, const Axes& rows, int64_t tile,
                     bool turned) {
      if (turned) {  // a copy is loaded as it is used
        const int64_t own = tile * s.tile.k * dtype_bytes(conv_.operand);
        return static_cast<int64_t>(operands.size()) * own * (s.tile.stages + parts - 1);
      }
      const Axes contracted = sorted(subject_.graph.nodes[conv_.products.front()].axes);
      return gemm_shared_bytes(subject_.graph, {operands, rows, tile}, contracted, s.tile,
                               conv_.operand, parts);
    };
    Axes positions, filter;
    for (const Loop& loop : conv_.batch) positions = set_union(positions, sorted(loop.axes));
    for (const ConvDim& dim : conv_.dims) positions = set_union(positions, sorted(dim.in));
    for (const Loop& loop : conv_.filter) filter = set_union(filter, sorted(loop.axes));
    const int64_t shared = bytes(conv_.left, positions, s.tile.m, s.turned_input) +
                           bytes(conv_.right, filter, s.tile.n, s.turned_weight);
    const int64_t registers =
        static_cast<int64_t>(conv_.products.size()) * s.tile.m * s.tile.n / (32 * s.tile.warps);
    // tf32x3 also holds the parts of its operands.
    const int64_t limit = s.precision == "tf32x3" ? 64 : 128;
    // Copies have an image in the third dimension of their grid.
    const bool launches = !s.turned_input || total_size(conv_.batch) <= 65535;
    return shared + 4096 <= subject_.profile.shared_per_block && registers <= limit && launches &&
           programs(s.tile) < int64_t{1} << 31;
  }

  double seconds(const ConvSchedule& s) const {
    const DeviceProfile& device = subject_.profile;
    const bool full = conv_.operand == DType::kFloat32;
    double peak = full ? device.tf32_flops : device.half_flops;
    if (s.precision == "tf32x3") peak /= 3;
    if (s.precision == "ieee") peak = device.fp32_flops / 2;
    peak *= operand_rate(s);
    // Large tiles leave few registers for addresses.
    if (s.tile.m * s.tile.n > 64 * 32 * s.tile.warps) peak *= 0.85;
    const int64_t programs = this->programs(s.tile) * s.splits;
    const int64_t own_steps = cdiv(steps(s), s.splits);
    const double bytes = static_cast<double>(subject_.table.bytes());
    double out = gemm_seconds(device, s.tile, programs, static_cast<double>(own_steps * s.tile.k),
                              static_cast<double>(conv_.products.size()), peak, bytes);
    // A step waits for memory that few programs cannot hide.
    out = std::max(out, device.launch_seconds + static_cast<double>(own_steps) * 0.15e-6);
    // A store across the direction in which results are contiguous takes a sector an element.
    if (layout_.result_by_positions != s.flipped && s.splits == 1) {
      out +=
          4 * results() * static_cast<double>(dtype_bytes(conv_.operand)) / device.bytes_per_second;
    }
    out += join_seconds(device, s.splits, results() * static_cast<double>(conv_.products.size()));
    const double element = static_cast<double>(dtype_bytes(conv_.operand));
    auto copied = [&](double elements) {
      return device.launch_seconds + 2.2 * elements * element / device.bytes_per_second;
    };
    if (s.turned_input) out += copied(static_cast<double>(input_elements(conv_)));
    if (s.turned_weight) out += copied(weight_elements());
    return out;
  }

 private:
  double results() const {
    return static_cast<double>(rows_ * phases_ * total_size(conv_.group) *
                               total_size(conv_.filter));
  }
  double weight_elements() const {
    return static_cast<double>(conv_.taps() * total_size(conv_.group) * total_size(conv_.filter) *
                               total_size(conv_.channel));
  }

  // Share of the tensor cores' rate that the way operands are read leaves.
  double operand_rate(const ConvSchedule& s) const {
    const bool input = s.turned_input || layout_.input_inner;
    const bool weight = s.turned_weight || layout_.weight_inner;
    const bool full = conv_.operand == DType::kFloat32;
    double rate = 0.85;
    if (!input) rate *= s.flipped ? 0.3 : 0.15;
    if (!weight) rate *= full ? 0.6 : 0.8;
    if (!s.turned_input && !layout_.input_plain) rate *= 0.5;
    if (!s.turned_weight && !layout_.weight_plain) rate *= 0.6;
    if (s.walk == Walk::kFlat) rate *= 0.6;
    return rate;
  }

  const Subject& subject_;
  const Convolution& conv_;
  Layout layout_;
  int64_t rows_ = 1, phases_ = 1;
};

// Returns ways to walk K and to lay out operands that may pay.
std::vector<ConvSchedule> forms(const Convolution& conv, const Model& model) {
  const Layout& layout = model.layout();
  const bool many = total_size(conv.channel) >= 8;
  std::vector<ConvSchedule> out;
  auto add = [&](Walk walk, bool input, bool weight) {
    ConvSchedule s;
    s.walk = walk, s.turned_input = input, s.turned_weight = weight;
    s.kernel_first = layout.weight_inner && !layout.kernel_inner;
    out.push_back(s);
  };
  // Without channels only a window of some size is worth a matrix product.
  if (conv.channel.empty()) {
    if (!conv.phased && conv.taps() >= 8 && !conv.filter.empty()) add(Walk::kFlat, false, false);
    return out;
  }
  if (many && (!layout.input_inner || !layout.input_plain)) {
    add(Walk::kTaps, true, !layout.weight_inner || !layout.weight_plain);
  }
  if (many && (!layout.weight_inner || !layout.weight_plain)) add(Walk::kTaps, false, true);
  if (!conv.phased && total_size(conv.channel) < 64) add(Walk::kFlat, false, false);
  add(Walk::kTaps, false, false);
  return out;
}

std::string tiling_text(const ConvSchedule& s) {
  std::string form = s.walk == Walk::kFlat ? "flat" : "taps";
  if (s.turned_input || s.turned_weight) {
    form += s.turned_input ? " of turned input" : " of turned weight";
    if (s.turned_input && s.turned_weight) form += " and weight";
  }
  if (s.flipped) form += ", flipped";
  if (!s.precision.empty()) form = s.precision + " " + form;
  std::string out = form + ", BLOCK_M=" + std::to_string(s.tile.m) +
                    " BLOCK_N=" + std::to_string(s.tile.n) + " BLOCK_K=" + std::to_string(s.tile.k);
  if (s.splits > 1) out += " SPLITS=" + std::to_string(s.splits);
  return out;
}

GemmTile clipped(GemmTile tile, const Convolution& conv, const Model& model, Walk walk) {
  tile.m = clipped_block(tile.m, model.rows());
  tile.n = clipped_block(tile.n, total_size(conv.filter));
  const int64_t depth = total_size(conv.channel) * (walk == Walk::kFlat ? conv.taps() : 1);
  tile.k = clipped_block(tile.k, depth);
  if (tile.m * tile.n <= 64 * 64) tile.warps = std::min(tile.warps, 4);
  return tile;
}

}  // namespace

std::vector<Choice> convolution_choices(const Subject& subject) {
  const auto found = find_convolution(subject);
  if (!found || found->operand == DType::kFloat64) return {};
  const auto conv = std::make_shared<const Convolution>(*found);
  const Model model(subject, *conv);
  const bool full = conv->operand == DType::kFloat32;
  const std::vector<std::string> precisions =
      full ? std::vector<std::string>{"tf32", "tf32x3", "ieee"} : std::vector<std::string>{""};
  std::vector<Choice> out;
  std::set<std::string> seen;
  auto add = [&](const ConvSchedule& s) {
    const std::string tiling = tiling_text(s);
    const std::string key =
        tiling + "/" + std::to_string(s.tile.warps) + "/" + std::to_string(s.tile.stages);
    if (!model.fits(s) || !seen.insert(key).second) return;
    Choice choice{"convolution",
                  tiling,
                  s.tile.warps,
                  s.tile.stages,
                  model.seconds(s),
                  model.programs(s.tile) * s.splits,
                  [=, &subject] { return write_convolution(subject, *conv, s); }};
    choice.precision = s.precision;
    out.push_back(std::move(choice));
  };
  for (ConvSchedule s : forms(*conv, model)) {
    for (const std::string& precision : precisions) {
      s.precision = precision;
      for (const GemmTile& tile : full ? full_tiles() : half_tiles()) {
        s.tile = clipped(tile, *conv, model, s.walk);
        while (s.tile.stages > 1 && !model.fits(s)) --s.tile.stages;
        if (precision == "ieee" && s.tile.m * s.tile.n > 64 * 64) continue;
        const int64_t programs = model.programs(s.tile), steps = model.steps(s);
        for (int splits : split_counts(subject.profile, programs, steps)) {
          if (splits > 1 && conv->phased) continue;
          s.splits = splits;
          s.flipped = false;
          add(s);
          // Tensor cores of whole warp groups want 64 along the first side.
          s.flipped = model.layout().result_by_positions;
          if (s.flipped && s.tile.n >= 64) add(s);
        }
        s.splits = 1, s.flipped = false;
      }
    }
  }
  return in_class(std::move(out), convolution_class(subject, *conv));
}

}  // namespace kw::teacher
