// Samples at positions that a tensor holds (grid_sample), and the positions of an affine map.
#include "teacher/lower/sample.h"

namespace kw::teacher {
namespace {
// PyTorch passes these to its functions as numbers.
enum Interpolation { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding { kZeros = 0, kBorder = 1, kReflection = 2 };

// Returns the elements and weights along a dimension of `size`, for coordinates from -1 to 1.
std::vector<Sample> grid_samples(Builder& b, Call& call, int coordinate, int64_t size, DType type) {
  const auto how = static_cast<Interpolation>(call.integer("interpolation_mode", kBilinear));
  const auto padding = static_cast<Padding>(call.integer("padding_mode", kZeros));
  const bool align = call.flag("align_corners", false);
  auto real = [&](const std::string& hint, const std::string& expression, std::vector<int> nodes) {
    std::vector<DType> types(nodes.size(), type);
    return expression_node(b, hint, expression, std::move(nodes), std::move(types), type);
  };
  auto number = [&](double value) { return literal(value, type); };
  const auto extent = static_cast<double>(size);
  // Returns a position inside, or one that no element has; so becomes what no int can hold.
  auto padded = [&](int node) {
    if (padding == kReflection) {
      const double low = align ? 0 : -0.5, span = align ? extent - 1 : extent;
      if (span == 0) {
        node = real("reflected", "tl.minimum(tl.maximum({0}, 0.0), 0.0)", {node});
      } else {
        const int far = real("far", "tl.abs({0} - " + number(low) + ")", {node});
        const int flips = real("flips", "tl.floor({0} / " + number(span) + ")", {far});
        const int extra = real("extra", "libdevice.fmod({0}, " + number(span) + ")", {far});
        node = real("reflected",
                    "tl.where({0} - 2.0 * tl.floor({0} / 2.0) == 0.0, {1}, " + number(span) +
                        " - {1}) + " + number(low),
                    {flips, extra});
      }
    }
    if (padding != kZeros) {
      node =
          real("clipped", "tl.minimum(tl.maximum({0}, 0.0), " + number(extent - 1) + ")", {node});
    }
    return real("position", "tl.where(({0} > -2147483648.0) & ({0} < 2147483646.0), {0}, -100.0)",
                {node});
  };
  auto element = [&](int whole, int weight) {
    Sample sample;
    sample.position.node =
        expression_node(b, "index", "{0}.to(tl.int32)", {whole}, {type}, DType::kInt32);
    sample.position.guard = condition_node(b, "({0} >= 0) & ({0} < " + std::to_string(size) + ")",
                                           {sample.position.node});
    sample.weight = weight;
    return sample;
  };
  const int at =
      align ? real("source", "({0} + 1.0) / 2.0 * " + number(extent - 1), {coordinate})
            : real("source", "(({0} + 1.0) * " + number(extent) + " - 1.0) / 2.0", {coordinate});
  if (how == kNearest) return {element(real("nearest", "libdevice.rint({0})", {padded(at)}), -1)};
  const int source = how == kBicubic ? at : padded(at);
  const int floor = real("floor", "tl.floor({0})", {source});
  const int part = real("part", "{0} - {1}", {source, floor});
  if (how == kBilinear) {
    return {element(floor, real("weight", "1.0 - {0}", {part})),
            element(real("next", "{0} + 1.0", {floor}), part)};
  }
  std::vector<Sample> out;
  for (int k = 0; k < 4; ++k) {
    const int tap = padded(real("tap", "{0} + " + number(k - 1), {floor}));
    out.push_back(element(tap, real("weight", kCubicWeights[k], {part})));
  }
  return out;
}

// The input is [N, C, spatial...]. The grid is [N, result's spatial..., as many numbers], whose
// numbers begin with the last dimension.
void lower_grid_sampler(Builder& b, Call& call) {
  const Tensor t = b.use(call.operand("input")), grid = call.operand("grid");
  const int n = t.rank() - 2;
  if (n < 2 || n > 3 || grid.rank() != n + 2) throw Refusal{"a grid of another rank"};
  if (t.dtype != grid.dtype || dtype_bytes(t.dtype) < 4) throw Refusal{"a grid of half type"};
  const auto how = static_cast<Interpolation>(call.integer("interpolation_mode", kBilinear));
  if (how == kBicubic && n != 2) throw Refusal{"a bicubic grid of three dimensions"};
  Tensor out = t;
  std::vector<std::vector<Sample>> dims;
  for (int i = 0; i < n; ++i) {
    Tensor at = sliced(b, grid, n + 1, n - 1 - i, 1, 1);
    at.dims.pop_back();
    at = b.use(std::move(at));
    dims.push_back(grid_samples(b, call, at.node, b.extent(t, 2 + i), t.dtype));
    out.dims[0] = joined(b, call, {t, at}, {0, 0});
    out.dims[2 + i] = at.dims[1 + i];
  }
  out.node = sampled(b, t, dims, 0, {});
  b.note_layout(out.axes());
  call.set_result(0, std::move(out));
}

// Returns numbers from -1 to 1 in `count` steps, as torch.linspace makes them; a scalar for one.
Tensor coordinate(Builder& b, Call& call, int64_t count, DType type) {
  const std::string name(triton_name(type));
  if (count == 1) return b.constant("tl.full((), 0.0, " + name + ")", type);
  const AxisId axis = b.loop_of(count);
  const auto steps = static_cast<double>(count);
  const double step =
      type == DType::kFloat64 ? 2.0 / (steps - 1) : static_cast<float>(2.0 / (steps - 1));
  std::string text = "tl.where({0} < " + std::to_string(count / 2) + ", -1.0 + " +
                     literal(step, type) + " * {0}.to(" + name + "), 1.0 - " + literal(step, type) +
                     " * (" + std::to_string(count - 1) + " - {0}).to(" + name + "))";
  if (!call.flag("align_corners", false)) text += " * " + literal((steps - 1) / steps, type);
  Tensor out;
  out.dtype = type;
  out.node = expression_node(b, "coordinate", text, {index_of(b, axis)}, {DType::kInt32}, type);
  out.dims = {pieces_of(axis)};
  return out;
}

// Gives theta [N, n, n + 1] times (x, y, ..., 1) for every place of the result.
void lower_affine_grid_generator(Builder& b, Call& call) {
  const Tensor theta = call.operand("theta");
  const std::vector<int64_t>& shape = call.result_value().shape;
  const int n = static_cast<int>(shape.size()) - 2;
  if (theta.rank() != 3 || !is_floating(theta.dtype)) throw Refusal{"a map of another rank"};
  const DType type = register_type(theta.dtype);
  auto column = [&](int j) {  // [N, 1, ..., n]
    Tensor out = sliced(b, theta, 2, j, 1, 1);
    out.dims.pop_back();
    out.dims.insert(out.dims.begin() + 1, n, {});
    return out;
  };
  Tensor sum = column(n);
  for (int j = 0; j < n; ++j) {
    const int dim = n - j;  // x comes last
    Tensor place = coordinate(b, call, shape[dim], type);
    if (place.rank() == 1) place = aligned(std::move(place), n + 2, dim);
    sum = b.pointwise("grid", "{0} * {1} + {2}", {column(j), std::move(place), std::move(sum)},
                      theta.dtype);
  }
  call.set_result(0, std::move(sum));
}

constexpr LoweringRule kGridRules[] = {
    {"aten.affine_grid_generator", lower_affine_grid_generator},
    {"aten.grid_sampler", lower_grid_sampler},
    {"aten.grid_sampler_2d", lower_grid_sampler},
    {"aten.grid_sampler_3d", lower_grid_sampler},
};

}  // namespace

std::span<const LoweringRule> grid_rules() { return kGridRules; }

}  // namespace kw::teacher
