// Convolutions as direct sums: a tile of results in registers, the window and the few input
// channels of a group walked one by one. For depthwise and small groups, and for few output
// channels, where a matrix product would multiply padding, and for types that tensor cores do not
// take.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "teacher/family/stencil.h"

namespace kw::teacher {
namespace {

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

// What computes a value: operators, and the loads they start from.
struct Behind {
  int64_t operators = 0;
  std::vector<int> loads;
};
Behind behind(const Graph& graph, const std::vector<int>& values) {
  Behind out;
  std::set<int> seen;
  std::vector<int> open = values;
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = graph.nodes[id];
    node.kind == NodeKind::kLoad ? out.loads.push_back(id) : void(++out.operators);
    open.insert(open.end(), node.operands.begin(), node.operands.end());
  }
  return out;
}

// Neighbouring columns along which an access steps so far touch that many times the sectors of 32
// bytes that contiguous ones do.
double spread(const Access& access, const std::vector<Loop>& columns, int64_t step) {
  if (columns.empty()) return 1;
  const LeafStride* found = likely_stride(access, columns.back());
  if (!found || found->stride == 0) return 1;
  return static_cast<double>(std::clamp<int64_t>(std::abs(found->stride) * step, 1, 8));
}

// Loads of an operand through the L1 cache run at some 40 bytes a clock and SM if neighbours read
// neighbours. What comes before the convolution is computed at each position of the window, after
// the position itself. Weights that are read for each input channel serve all results of a thread.
double stencil_seconds(const Subject& subject, const Convolution& conv, int64_t programs,
                       const StencilSchedule& s, const PlaceWork& work) {
  const DeviceProfile& device = subject.profile;
  const Graph& graph = subject.graph;
  const double places = static_cast<double>(programs * s.rows * s.cols);
  const double channels = static_cast<double>(total_size(conv.channel));
  double loads = static_cast<double>(conv.taps() * static_cast<int64_t>(conv.products.size()));
  double terms = loads, weights = 0, stores = 1;
  if (s.together) {
    loads = static_cast<double>(work.loads), terms = static_cast<double>(work.terms);
    stores = static_cast<double>(work.results);
    const double held = std::max(1.0, static_cast<double>(s.rows * s.cols) / (32 * s.warps));
    if (channels > 1) {
      weights = static_cast<double>(conv.taps() * filters_together(conv, s)) / held;
    }
  }
  int inner = conv.rank() - 1;
  while (inner > 0 && conv.dims[inner].out_size == 1) --inner;
  const ConvDim& dim = conv.dims[inner];
  const bool classes = dim.transposed && s.together;
  const std::vector<Loop>& of_channels = conv.filter.empty() ? conv.group : conv.filter;
  const auto columns = [&](const Axes& positions) {
    return s.channels_inside ? of_channels : leaf_loops(graph, positions);
  };
  const Behind input = behind(graph, conv.left);
  double read = 0, written = 0;
  for (int id : input.loads) {
    const int64_t step = s.channels_inside || dim.transposed ? 1 : dim.stride;
    read += spread(subject.table.of_node(id), columns(dim.in), step);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const int64_t step = !s.channels_inside && classes ? dim.stride : 1;
    written += spread(subject.table.of_output(static_cast<int>(i)), columns(dim.out), step);
  }
  const double cached =
      places * (channels * loads * read + stores * written) * 4 / (device.sms * 40 * 1.7e9);
  const double issued =
      (loads + weights) * 10 + terms * 2 + loads * 2 * static_cast<double>(input.operators);
  const double flops = places * channels * issued / scalar_rate(subject);
  const double bytes = static_cast<double>(subject.table.bytes());
  return model_seconds(subject, bytes, std::max(cached, flops), programs, s.warps,
                       bytes / static_cast<double>(programs));
}

// Whether a place's results, reads and multiplications fit registers and a text of sane length.
bool fits(const Convolution& conv, const StencilSchedule& s, const PlaceWork& work) {
  constexpr int64_t kSums = 4096, kHeldTaps = 64, kTerms = 400, kLoads = 96;
  const int64_t taps = conv.taps() * filters_together(conv, s);
  return work.results * s.rows * s.cols <= kSums && taps <= kHeldTaps && work.terms <= kTerms &&
         work.loads <= kLoads && work.results * static_cast<int64_t>(conv.products.size()) <= 32;
}

// The direct sum, and what can be done together: nothing where each result has a window of its own.
std::vector<StencilSchedule> kinds(const Convolution& conv, bool inside) {
  std::vector<StencilSchedule> out(1);
  out[0].channels_inside = inside;
  const int along = sliding_dim(conv, inside);
  for (int64_t slide : {2, 4, 8}) {
    if (along < 0 || slide > conv.dims[along].out_size) break;
    out.push_back({1, 1, 4, inside, true, slide});
  }
  const bool classes = std::any_of(conv.dims.begin(), conv.dims.end(), [](const ConvDim& dim) {
    return dim.transposed && dim.stride > 1 && dim.out_size > 1;
  });
  const StencilSchedule positions{1, 1, 4, false, true, 1};
  if (classes && inside) out.push_back({1, 1, 4, true, true, 1});
  if (classes || filters_together(conv, positions) > 1) out.push_back(positions);
  return out;
}

}  // namespace

std::vector<Choice> stencil_choices(const Subject& subject) {
  const auto found = find_convolution(subject);
  if (!found) return {};
  const auto conv = std::make_shared<const Convolution>(*found);
  std::vector<Choice> out;
  for (const StencilSchedule& kind : kinds(*conv, channels_last(subject, *conv))) {
    const PlaceWork work = place_work(*conv, kind);
    const int64_t filters = filters_together(*conv, kind);
    const int64_t channels = total_size(conv->group) * total_size(conv->filter) / filters;
    int64_t places = 1;
    const std::vector<Slide> slides = slides_of(*conv, kind);
    for (int d = 0; d < conv->rank(); ++d) {
      places *= cdiv(conv->dims[d].out_size, kind.together ? slides[d].results : 1);
    }
    const bool inside = kind.channels_inside;
    const int64_t n_cols = inside ? channels : places;
    const int64_t n_rows = total_size(conv->batch) * (inside ? places : channels);
    for (int64_t cols : {1, 16, 32, 64, 128, 256, 512, 1024}) {
      if (n_cols == 1 ? cols > 1
                      : cols == 1 || cols > std::max<int64_t>(16, next_power_of_2(n_cols))) {
        continue;
      }
      for (int64_t rows : {1, 2, 4, 8, 16, 32, 64}) {
        const int64_t tile = rows * cols;
        if (tile > 2048 || rows > next_power_of_2(n_rows)) continue;
        if (tile < 256 && rows < std::min<int64_t>(64, next_power_of_2(n_rows))) continue;
        StencilSchedule s = kind;
        s.rows = rows, s.cols = cols, s.warps = tile <= 512 ? 4 : 8;
        if (s.together && !fits(*conv, s, work)) continue;
        const int64_t programs = cdiv(n_rows, rows) * cdiv(n_cols, cols);
        if (programs >= int64_t{1} << 31) continue;
        std::string name = "direct";
        if (s.slide > 1) {
          name = "sliding by " + std::to_string(s.slide);
        } else if (s.together) {
          name = inside ? "together inside" : "together";
        }
        out.push_back(
            {"stencil",
             name + ", BLOCK_R=" + std::to_string(rows) + " BLOCK_C=" + std::to_string(cols),
             s.warps, 0, stencil_seconds(subject, *conv, programs, s, work), programs,
             [=, &subject] { return write_stencil(subject, *conv, s); }});
      }
    }
  }
  return in_class(std::move(out), convolution_class(subject, *conv));
}

}  // namespace kw::teacher
