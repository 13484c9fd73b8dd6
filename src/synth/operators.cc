#include "synth/operators.h"

#include <array>
#include <map>
#include <sstream>

namespace kw {
namespace {

// clang-format off
constexpr SynthOperator kOperators[] = {
    {"Add", Domain::kBinary, 0, "{0} + {1}",
     "", "add.Tensor"},
    {"Sub", Domain::kBinary, 0, "{0} - {1}",
     "", "sub.Tensor"},
    {"Mul", Domain::kBinary, 0, "{0} * {1}",
     "", "mul.Tensor"},
    {"Div", Domain::kBinary, 0, "{0} / {1}",
     "", "div.Tensor"},
    {"Maximum", Domain::kBinary, 0, "torch.maximum({0}, {1})",
     "", "maximum.default"},
    {"Minimum", Domain::kBinary, 0, "torch.minimum({0}, {1})",
     "", "minimum.default"},
    {"Lerp", Domain::kBinary, 0, "torch.lerp({0}, {1}, {weight})",
     "weight=0.1,0.25,0.5,0.75,0.9", "lerp.Scalar"},
    {"Matmul", Domain::kMatmul, 0, "torch.matmul({0}, {1})",
     "", "matmul.default"},
    {"Bmm", Domain::kBmm, 0, "torch.bmm({0}, {1})",
     "", "bmm.default"},
    {"Transpose", Domain::kTranspose, 0, "{0}.transpose({dim}, {dim1})",
     "", "transpose.int"},
    {"Sum", Domain::kReduce, 0, "{0}.sum(dim={dim}, keepdim={keepdim})",
     "", "sum.dim_IntList"},
    {"Mean", Domain::kReduce, 0, "{0}.mean(dim={dim}, keepdim={keepdim})",
     "", "mean.dim"},
    {"Max", Domain::kReduce, 0, "{0}.max(dim={dim}, keepdim={keepdim}).values",
     "", "max.dim"},
    {"Min", Domain::kReduce, 0, "{0}.min(dim={dim}, keepdim={keepdim}).values",
     "", "min.dim"},
    {"ArgMax", Domain::kArg, 0, "{0}.argmax(dim={dim}, keepdim={keepdim})",
     "", "argmax.default"},
    {"ArgMin", Domain::kArg, 0, "{0}.argmin(dim={dim}, keepdim={keepdim})",
     "", "argmin.default"},
    {"Var", Domain::kSpread, 0, "{0}.var(dim={dim}, keepdim={keepdim})",
     "", "var.correction"},
    {"Norm", Domain::kReduce, 0, "torch.linalg.vector_norm({0}, dim={dim}, keepdim={keepdim})",
     "", "linalg_vector_norm.default"},
    {"CumSum", Domain::kScan, 0, "{0}.cumsum(dim={dim})",
     "", "cumsum.default"},
    {"CumMax", Domain::kScan, 0, "{0}.cummax(dim={dim}).values",
     "", "cummax.default"},
    {"CumMin", Domain::kScan, 0, "{0}.cummin(dim={dim}).values",
     "", "cummin.default"},
    {"ReLU", Domain::kUnary, 0, "F.relu({0})",
     "", "relu.default"},
    {"LeakyReLU", Domain::kUnary, 0, "F.leaky_relu({0}, {negative_slope})",
     "negative_slope=0.01,0.1,0.2", "leaky_relu.default"},
    {"Sigmoid", Domain::kUnary, 0, "torch.sigmoid({0})",
     "", "sigmoid.default"},
    {"Tanh", Domain::kUnary, 0, "torch.tanh({0})",
     "", "tanh.default"},
    {"Softmax", Domain::kSoftmax, 0, "F.softmax({0}, dim={dim})",
     "", "softmax.int"},
    {"LogSoftmax", Domain::kSoftmax, 0, "F.log_softmax({0}, dim={dim})",
     "", "log_softmax.int"},
    {"SiLU", Domain::kUnary, 0, "F.silu({0})",
     "", "silu.default"},
    {"GELU", Domain::kUnary, 0, "F.gelu({0}, approximate='{approximate}')",
     "approximate=none,tanh", "gelu.default"},
    {"SELU", Domain::kUnary, 0, "F.selu({0})",
     "", "elu.default"},
    {"ELU", Domain::kUnary, 0, "F.elu({0}, {alpha})",
     "alpha=0.5,1.0,2.0", "elu.default"},
    {"Hardsigmoid", Domain::kUnary, 0, "F.hardsigmoid({0})",
     "", "hardsigmoid.default"},
    {"Hardtanh", Domain::kUnary, 0, "F.hardtanh({0}, {min_val}, {max_val})",
     "min_val=-2.0,-1.0,-0.5 max_val=0.5,1.0,2.0", "hardtanh.default"},
    {"Softplus", Domain::kUnary, 0, "F.softplus({0}, beta={beta})",
     "beta=0.5,1.0,2.0", "softplus.default"},
    {"Softsign", Domain::kUnary, 0, "F.softsign({0})",
     "", "abs.default add.Tensor div.Tensor"},
    {"LogSigmoid", Domain::kUnary, 0, "F.logsigmoid({0})",
     "", "log_sigmoid_forward.default"},
    {"Clamp", Domain::kUnary, 0, "torch.clamp({0}, {min}, {max})",
     "min=-1.0,-0.5,0.0 max=0.5,1.0,2.0", "clamp.default"},
    {"Abs", Domain::kUnary, 0, "torch.abs({0})",
     "", "abs.default"},
    {"Cos", Domain::kUnary, 0, "torch.cos({0})",
     "", "cos.default"},
    {"Sin", Domain::kUnary, 0, "torch.sin({0})",
     "", "sin.default"},
    {"Exp2", Domain::kUnary, 0, "torch.exp2({0})",
     "", "exp2.default"},
    {"BatchNorm", Domain::kBatchNorm, 0, "F.batch_norm({0}, {mean}, {var}, {weight}, {bias}, training={training})",
     "", "batch_norm.default"},
    {"LayerNorm", Domain::kLayerNorm, 0, "F.layer_norm({0}, {shape}, {weight}, {bias})",
     "", "layer_norm.default"},
    {"GroupNorm", Domain::kGroupNorm, 0, "F.group_norm({0}, {groups}, {weight}, {bias})",
     "", "group_norm.default"},
    {"InstanceNorm", Domain::kInstanceNorm, 0, "F.instance_norm({0}, weight={weight}, bias={bias})",
     "", "instance_norm.default"},
    {"AvgPool1d", Domain::kAvgPool, 1, "F.avg_pool1d({0}, {kernel}, stride={stride}, padding={padding})",
     "", "avg_pool2d.default"},
    {"AvgPool2d", Domain::kAvgPool, 2, "F.avg_pool2d({0}, {kernel}, stride={stride}, padding={padding})",
     "", "avg_pool2d.default"},
    {"AvgPool3d", Domain::kAvgPool, 3, "F.avg_pool3d({0}, {kernel}, stride={stride}, padding={padding})",
     "", "avg_pool3d.default"},
    {"MaxPool1d", Domain::kMaxPool, 1, "F.max_pool1d({0}, {kernel}, stride={stride}, padding={padding}, dilation={dilation})",
     "", "max_pool2d_with_indices.default"},
    {"MaxPool2d", Domain::kMaxPool, 2, "F.max_pool2d({0}, {kernel}, stride={stride}, padding={padding}, dilation={dilation})",
     "", "max_pool2d_with_indices.default"},
    {"MaxPool3d", Domain::kMaxPool, 3, "F.max_pool3d({0}, {kernel}, stride={stride}, padding={padding}, dilation={dilation})",
     "", "max_pool3d_with_indices.default"},
    {"Conv1d", Domain::kConv, 1, "F.conv1d({0}, {1}, {bias}, stride={stride}, padding={padding}, dilation={dilation}, groups={groups})",
     "", "conv1d.default"},
    {"Conv2d", Domain::kConv, 2, "F.conv2d({0}, {1}, {bias}, stride={stride}, padding={padding}, dilation={dilation}, groups={groups})",
     "", "conv2d.default"},
    {"Conv3d", Domain::kConv, 3, "F.conv3d({0}, {1}, {bias}, stride={stride}, padding={padding}, dilation={dilation}, groups={groups})",
     "", "conv3d.default"},
    {"ConvTranspose1d", Domain::kConvTranspose, 1, "F.conv_transpose1d({0}, {1}, {bias}, stride={stride}, padding={padding}, output_padding={output_padding}, groups={groups}, dilation={dilation})",
     "", "convolution.default"},
    {"ConvTranspose2d", Domain::kConvTranspose, 2, "F.conv_transpose2d({0}, {1}, {bias}, stride={stride}, padding={padding}, output_padding={output_padding}, groups={groups}, dilation={dilation})",
     "", "convolution.default"},
    {"ConvTranspose3d", Domain::kConvTranspose, 3, "F.conv_transpose3d({0}, {1}, {bias}, stride={stride}, padding={padding}, output_padding={output_padding}, groups={groups}, dilation={dilation})",
     "", "convolution.default"},
    {"Triu", Domain::kTriangle, 0, "torch.triu({0}, {diagonal})",
     "", "triu.default"},
    {"Tril", Domain::kTriangle, 0, "torch.tril({0}, {diagonal})",
     "", "tril.default"},
    {"Cat", Domain::kCat, 0, "torch.cat([{0}, {1}], dim={dim})",
     "", "cat.default"},
    {"Stack", Domain::kStack, 0, "torch.stack([{0}, {1}], dim={dim})",
     "", "stack.default"},
};
// clang-format on

constexpr int kGroups[] = {1, 2, 4, 8};

// The windows of pooling and convolution: kernel, stride, padding, dilation.
std::vector<Parameters> windows(int least_kernel, bool dilated) {
  std::vector<Parameters> sets;
  for (int kernel = least_kernel; kernel <= 5; ++kernel) {
    for (int stride = 1; stride <= 3; ++stride) {
      for (int padding = 0; 2 * padding <= kernel; ++padding) {
        for (int dilation = 1; dilation <= (dilated && kernel > 1 ? 2 : 1); ++dilation) {
          sets.push_back(
              {.kernel = kernel, .stride = stride, .padding = padding, .dilation = dilation});
        }
      }
    }
  }
  return sets;
}

// Each of `sets` with each of `values` in the member.
template <typename T, typename Values>
std::vector<Parameters> times(const std::vector<Parameters>& sets, T Parameters::*member,
                              const Values& values) {
  std::vector<Parameters> product;
  for (const Parameters& set : sets) {
    for (const auto& value : values) {
      product.push_back(set);
      product.back().*member = value;
    }
  }
  return product;
}

std::vector<int> up_to(int count) {
  std::vector<int> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

std::vector<Parameters> with_rank(std::vector<Parameters> sets, int rank) {
  for (Parameters& set : sets) set.rank = rank;
  return sets;
}

constexpr std::array<bool, 2> kBoth = {false, true};

// Over one dim, which stays as a one with keepdim; never down to no dim at all.
std::vector<Parameters> reductions(int rank) {
  std::vector<Parameters> sets;
  for (int dim = 0; dim < rank; ++dim) {
    for (bool keepdim : kBoth) {
      if (rank == 1 && !keepdim) continue;
      sets.push_back({.dim = dim, .keepdim = keepdim, .rank = keepdim ? rank : rank - 1});
    }
  }
  return sets;
}

std::vector<Parameters> transposed_windows() {
  std::vector<Parameters> sets;
  for (const Parameters& window : windows(1, true)) {
    for (int more = 0; more < window.stride; ++more) {  // output_padding is below the stride
      sets.push_back(window);
      sets.back().output_padding = more;
    }
  }
  return sets;
}

std::vector<Parameters> base_sets(const SynthOperator& op, int a, int b) {
  const std::vector<Parameters> one(1);
  switch (op.domain) {
    case Domain::kUnary:
      return with_rank(one, a);
    case Domain::kBinary:
      return with_rank(one, std::max(a, b));
    case Domain::kMatmul:
      if (a < 2 || (b != 2 && b != a)) return {};
      return with_rank(one, a);
    case Domain::kBmm:
      if (a != 3 || b != 3) return {};
      return with_rank(one, 3);
    case Domain::kTranspose: {
      std::vector<Parameters> sets;
      for (int dim = 0; dim < a; ++dim) {
        for (int dim1 = dim + 1; dim1 < a; ++dim1) sets.push_back({.dim = dim, .dim1 = dim1});
      }
      return with_rank(sets, a);
    }
    case Domain::kReduce:
    case Domain::kSpread:
      return reductions(a);
    case Domain::kArg:
      return with_rank(reductions(a), 0);
    case Domain::kScan:
    case Domain::kSoftmax:
      return with_rank(times(one, &Parameters::dim, up_to(a)), a);
    case Domain::kBatchNorm:
      if (a < 2) return {};
      return with_rank(times(times(one, &Parameters::affine, kBoth), &Parameters::training, kBoth),
                       a);
    case Domain::kLayerNorm: {
      std::vector<int> counts;
      for (int count = 1; count <= a; ++count) counts.push_back(count);
      return with_rank(
          times(times(one, &Parameters::affine, kBoth), &Parameters::normalized, counts), a);
    }
    case Domain::kGroupNorm:
      if (a < 2) return {};
      return with_rank(times(times(one, &Parameters::affine, kBoth), &Parameters::groups, kGroups),
                       a);
    case Domain::kInstanceNorm:
      if (a < 3) return {};
      return with_rank(times(one, &Parameters::affine, kBoth), a);
    case Domain::kAvgPool:
    case Domain::kMaxPool:
      if (a != op.spatial + 2) return {};
      return with_rank(windows(2, op.domain == Domain::kMaxPool), a);
    case Domain::kConv:
    case Domain::kConvTranspose:
      if (a != op.spatial + 2 || b != a) return {};
      return with_rank(
          times(times(op.domain == Domain::kConv ? windows(1, true) : transposed_windows(),
                      &Parameters::affine, kBoth),
                &Parameters::groups, kGroups),
          a);
    case Domain::kTriangle: {
      if (a < 2) return {};
      return with_rank(times(one, &Parameters::diagonal, std::array{-3, -2, -1, 0, 1, 2, 3}), a);
    }
    case Domain::kCat:
      if (b != a) return {};
      return with_rank(times(one, &Parameters::dim, up_to(a)), a);
    case Domain::kStack:
      if (b != a || a == kRanks) return {};
      return with_rank(times(one, &Parameters::dim, up_to(a + 1)), a + 1);
  }
  return {};
}

struct Choice {
  std::string_view name;
  std::vector<std::string_view> values;
};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<Choice> choices_of(const SynthOperator& op) {
  std::vector<Choice> choices;
  for (std::string_view item : split(op.choices, ' ')) {
    const size_t equals = item.find('=');
    choices.push_back({item.substr(0, equals), split(item.substr(equals + 1), ',')});
  }
  return choices;
}

std::vector<Parameters> all_sets(const SynthOperator& op, int a, int b) {
  std::vector<Parameters> sets = base_sets(op, a, b);
  for (const Choice& choice : choices_of(op)) {
    std::vector<Parameters> product;
    for (const Parameters& set : sets) {
      for (std::string_view value : choice.values) {
        product.push_back(set);
        product.back().chosen.push_back(value);
      }
    }
    sets = std::move(product);
  }
  return sets;
}

// [operator][a][b]
using SetTable =
    std::vector<std::array<std::array<std::vector<Parameters>, kRanks + 1>, kRanks + 1>>;

SetTable make_sets() {
  SetTable table(std::size(kOperators));
  for (size_t i = 0; i < table.size(); ++i) {
    const bool two = operand_count(kOperators[i].domain) == 2;
    for (int a = 1; a <= kRanks; ++a) {
      for (int b = two ? 1 : 0; b <= (two ? kRanks : 0); ++b) {
        table[i][a][b] = all_sets(kOperators[i], a, b);
      }
    }
  }
  return table;
}

}  // namespace

std::span<const SynthOperator> synth_operators() { return kOperators; }

std::vector<const SynthOperator*> all_synth_operators() {
  std::vector<const SynthOperator*> all;
  for (const SynthOperator& op : kOperators) all.push_back(&op);
  return all;
}

const SynthOperator* find_synth_operator(std::string_view name) {
  for (const SynthOperator& op : kOperators) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

int operand_count(Domain domain) {
  switch (domain) {
    case Domain::kBinary:
    case Domain::kMatmul:
    case Domain::kBmm:
    case Domain::kConv:
    case Domain::kConvTranspose:
    case Domain::kCat:
    case Domain::kStack:
      return 2;
    default:
      return 1;
  }
}

const std::vector<Parameters>& parameter_sets(const SynthOperator& op, int a, int b) {
  static const SetTable table = make_sets();
  return table.at(&op - kOperators).at(a).at(b);
}

std::string parameter_text(const SynthOperator& op, const Parameters& parameters,
                           std::string_view key) {
  const std::map<std::string_view, int> numbers = {
      {"dim", parameters.dim},           {"dim1", parameters.dim1},
      {"kernel", parameters.kernel},     {"stride", parameters.stride},
      {"padding", parameters.padding},   {"dilation", parameters.dilation},
      {"groups", parameters.groups},     {"output_padding", parameters.output_padding},
      {"diagonal", parameters.diagonal},
  };
  if (const auto number = numbers.find(key); number != numbers.end()) {
    return std::to_string(number->second);
  }
  if (key == "keepdim") return parameters.keepdim ? "True" : "False";
  if (key == "training") return parameters.training ? "True" : "False";
  const std::vector<Choice> choices = choices_of(op);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].name == key) return std::string(parameters.chosen.at(i));
  }
  return {};
}

}  // namespace kw
