// Resampling (interpolate): every result element is a weighted sum of elements near its position,
// one dimension at a time.

#include <algorithm>

#include "teacher/lower/sample.h"

namespace kw::teacher {

int sampled(Builder& b, const Tensor& t, const std::vector<std::vector<Sample>>& dims, size_t next,
            const Positions& at, const std::vector<int>& guards) {
  if (next == dims.size()) {
    Tensor value = t;
    value.node = substituted(b, t.node, at);
    return selected(b, guards, std::move(value), "0.0").node;
  }
  const DType type = register_type(t.dtype);
  int sum = -1;
  for (const Sample& sample : dims[next]) {
    Positions more = at;
    std::vector<int> all = guards;
    if (sample.position.guard >= 0) all.push_back(sample.position.guard);
    place(b, t, t.rank() - static_cast<int>(dims.size() - next), sample.position, more);
    int value = sampled(b, t, dims, next + 1, more, all);
    if (sample.weight < 0) return value;
    sum = sum < 0 ? expression_node(b, "sampled", "{0} * {1}", {sample.weight, value}, {type, type},
                                    type)
                  : expression_node(b, "sampled", "{2} + {0} * {1}", {sample.weight, value, sum},
                                    {type, type, type}, type);
  }
  return sum;
}

namespace {

// Returns the elements and weights along one dimension, computed in fp32 or fp64 as in PyTorch.
std::vector<Sample> samples(Builder& b, const std::string& how, int64_t size, int64_t out,
                            AxisId axis, double given, bool align, DType type) {
  const bool wide = type == DType::kFloat64 && !how.starts_with("nearest");
  const bool corners = align && !how.starts_with("nearest");
  double scale = given > 0 ? 1.0 / given : static_cast<double>(size) / static_cast<double>(out);
  if (!wide) {
    scale = given > 0 ? static_cast<float>(1.0 / given)
                      : static_cast<float>(size) / static_cast<float>(out);
  }
  if (corners) {
    scale = out > 1 ? static_cast<double>(size - 1) / static_cast<double>(out - 1) : 0;
    if (!wide && out > 1) scale = static_cast<float>(size - 1) / static_cast<float>(out - 1);
  }
  const DType real = wide ? DType::kFloat64 : DType::kFloat32;
  const std::string to_real = ".to(" + std::string(triton_name(real)) + ")";
  const std::string factor = literal(scale, real), last = std::to_string(size - 1);
  auto real_node = [&](const std::string& hint, const std::string& expression,
                       std::vector<int> operands) {
    std::vector<DType> types(operands.size(), real);
    return expression_node(b, hint, expression, std::move(operands), std::move(types), real);
  };
  // A single position is a tensor too, not a literal, so that it can be converted.
  const int place_of =
      axis >= 0 ? index_of(b, axis) : integer_node(b, "index", "tl.full((), 0, tl.int32)", {});
  auto element = [&](int node) {
    Sample sample;
    sample.position.node = node;
    sample.position.along = axis;
    sample.position.step = std::max<int64_t>(size / out, 1);
    return sample;
  };
  if (how.starts_with("nearest")) {
    if (size == out && given <= 0) return {element(place_of)};
    const std::string half = how == "nearest_exact" ? " + 0.5" : "";
    return {element(integer_node(
        b, "nearest",
        "tl.minimum((({0}" + to_real + half + ") * " + factor + ").to(tl.int32), " + last + ")",
        {place_of}))};
  }
  const bool cubic = how == "bicubic";
  std::string source = corners ? "{0} * " + factor : "({0} + 0.5) * " + factor + " - 0.5";
  if (!corners && !cubic) source = "tl.maximum(" + source + ", 0.0)";
  const int at = real_node("source", source, {place_of});
  auto whole = [&](const std::string& expression, int node) {
    return expression_node(b, "index", expression, {node}, {b.graph().nodes[node].dtype},
                           DType::kInt32);
  };
  std::vector<Sample> out_samples;
  if (!cubic) {
    const int low = whole("tl.minimum({0}.to(tl.int32), " + last + ")", at);
    const int high = whole("tl.minimum({0} + 1, " + last + ")", low);
    const int part = real_node("part", "{0} - {1}", {at, low});
    out_samples = {element(low), element(high)};
    out_samples[0].weight = real_node("weight", "1.0 - {0}", {part});
    out_samples[1].weight = part;
    return out_samples;
  }
  const int floor = real_node("floor", "tl.floor({0})", {at});
  const int part = real_node("part", "{0} - {1}", {at, floor});
  const int base = whole("{0}.to(tl.int32)", floor);
  for (int k = 0; k < 4; ++k) {
    out_samples.push_back(element(whole(
        "tl.minimum(tl.maximum({0} + " + std::to_string(k - 1) + ", 0), " + last + ")", base)));
    out_samples.back().weight = real_node("weight", kCubicWeights[k], {part});
  }
  return out_samples;
}

// Gives the upsampling of `n` spatial dimensions by the rule `how` ("nearest", "bilinear", ...).
void give_resampled(Builder& b, Call& call, const std::string& how, int n) {
  const bool nearest = how.starts_with("nearest");
  const Tensor t = b.use(call.operand("self"));
  const std::vector<int64_t>& shape = call.result_value().shape;
  if (n < 1 || n > 3 || t.rank() != n + 2) throw Refusal{"a resampling of another rank"};
  if (!nearest && !is_floating(t.dtype)) throw Refusal{"an interpolation of integers"};
  const DType type = register_type(t.dtype);
  const bool align = call.flag("align_corners", false);
  const char* const names[] = {"scales_d", "scales_h", "scales_w"};
  Tensor out = t;
  std::vector<std::vector<Sample>> dims;
  for (int i = 0; i < n; ++i) {
    const int dim = 2 + i;
    const int64_t size = b.extent(t, dim), count = shape.at(dim);
    const AxisId axis = b.loop_of(count);
    const double scale = call.number(n == 1 ? "scales" : names[3 - n + i], 0);
    dims.push_back(samples(b, how, size, count, axis, scale, align, type));
    out.dims[dim] = pieces_of(axis);
  }
  // The dimension of each entry of `dims` is found by its place.
  out.node = sampled(b, t, dims, 0, {});
  b.note_layout(out.axes());
  call.set_result(0, std::move(out));
}

template <int kDims>
void lower_nearest(Builder& b, Call& call) {
  give_resampled(b, call, "nearest", kDims);
}

template <int kDims>
void lower_nearest_exact(Builder& b, Call& call) {
  give_resampled(b, call, "nearest_exact", kDims);
}

template <int kDims>
void lower_linear_resampling(Builder& b, Call& call) {
  give_resampled(b, call, "linear", kDims);
}

void lower_bicubic(Builder& b, Call& call) { give_resampled(b, call, "bicubic", 2); }

constexpr LoweringRule kResamplingRules[] = {
    {"aten._upsample_nearest_exact1d", lower_nearest_exact<1>},
    {"aten._upsample_nearest_exact2d", lower_nearest_exact<2>},
    {"aten._upsample_nearest_exact3d", lower_nearest_exact<3>},
    {"aten.upsample_bicubic2d", lower_bicubic},
    {"aten.upsample_bilinear2d", lower_linear_resampling<2>},
    {"aten.upsample_linear1d", lower_linear_resampling<1>},
    {"aten.upsample_nearest1d", lower_nearest<1>},
    {"aten.upsample_nearest2d", lower_nearest<2>},
    {"aten.upsample_nearest3d", lower_nearest<3>},
    {"aten.upsample_trilinear3d", lower_linear_resampling<3>},
};

}  // namespace

std::span<const LoweringRule> resampling_rules() { return kResamplingRules; }

}  // namespace kw::teacher
