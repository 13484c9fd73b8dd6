// Every set of parameters that a call may have: the domains of docs/synthesis.md.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "synth/skeleton/synth_operators.h"

namespace kw {
namespace {

constexpr int kGroups[] = {1, 2, 4, 8};
constexpr int kScales[] = {2, 3};

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
    case Domain::kLayerNorm:
    case Domain::kRmsNorm: {
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
    case Domain::kTotal:
      return one;
    case Domain::kLoss:
      if (a != b) return {};
      return one;
    case Domain::kClassLoss:
      if (a != 2) return {};
      return one;
    case Domain::kPrelu:
      if (a < 2) return {};
      return with_rank(one, a);
    case Domain::kTop:
      return with_rank(
          times(times(one, &Parameters::dim, up_to(a)), &Parameters::size, std::array{2, 4, 8}), a);
    case Domain::kAdaptivePool:
      if (a != op.spatial + 2) return {};
      return with_rank(times(one, &Parameters::size, std::array{2, 4, 7}), a);
    case Domain::kGlobalPool:
      if (a != op.spatial + 2) return {};
      return with_rank(one, a);
    case Domain::kUpsample:
      if (a != op.spatial + 2) return {};
      return with_rank(times(one, &Parameters::scale, kScales), a);
    case Domain::kPad: {
      std::vector<Parameters> sets;
      for (int before : {0, 1, 2}) {
        for (int after : {0, 1, 2}) {
          if (before + after > 0) sets.push_back({.before = before, .after = after});
        }
      }
      return with_rank(sets, a);
    }
    case Domain::kReflect:
    case Domain::kReplicate:
    case Domain::kWrap:
      if (a != op.spatial + 2) return {};
      return with_rank(times(one, &Parameters::padding, std::array{1, 2, 3}), a);
    case Domain::kRepeat:
      return with_rank(times(times(one, &Parameters::dim, up_to(a)), &Parameters::scale, kScales),
                       a);
    case Domain::kPixelShuffle:
    case Domain::kPixelUnshuffle:
      if (a != 4) return {};
      return with_rank(times(one, &Parameters::scale, kScales), 4);
    case Domain::kChannelShuffle:
      if (a < 3) return {};
      return with_rank(times(one, &Parameters::groups, std::array{2, 4, 8}), a);
    case Domain::kPermute: {
      std::vector<Parameters> sets;
      Parameters each{.rank = a};
      std::iota(each.order.begin(), each.order.end(), 0);
      const auto end = each.order.begin() + a;
      while (std::next_permutation(each.order.begin(), end)) sets.push_back(each);
      return sets;
    }
    case Domain::kUnsqueeze:
      if (a == kRanks) return {};
      return with_rank(times(one, &Parameters::dim, up_to(a + 1)), a + 1);
    case Domain::kGlu:
      return with_rank(times(one, &Parameters::dim, up_to(a)), a);
    case Domain::kLinear:
      if (b != 2) return {};
      return with_rank(times(one, &Parameters::affine, kBoth), a);
    case Domain::kMatVec:
      if (a != 2 || b != 1) return {};
      return with_rank(one, 1);
    case Domain::kAddmm:
      if (a != 2 || b != 2) return {};
      return with_rank(one, 2);
    case Domain::kBaddbmm:
      if (a != 3 || b != 3) return {};
      return with_rank(one, 3);
    case Domain::kAttention:
      if ((a != 3 && a != 4) || b != a) return {};
      return with_rank(one, a);
    case Domain::kEmbedding: {
      if (a != 2) return {};
      std::vector<Parameters> sets;
      for (int rank : {1, 2}) sets.push_back({.index_rank = rank, .rank = rank + 1});
      return sets;
    }
    case Domain::kIndexSelect:
    case Domain::kGather:
      return with_rank(times(one, &Parameters::dim, up_to(a)), a);
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
  const std::span<const SynthOperator> operators = synth_operators();
  SetTable table(operators.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const bool two = operand_count(operators[i].domain) == 2;
    for (int a = 1; a <= kRanks; ++a) {
      for (int b = two ? 1 : 0; b <= (two ? kRanks : 0); ++b) {
        table[i][a][b] = all_sets(operators[i], a, b);
      }
    }
  }
  return table;
}

}  // namespace

const std::vector<Parameters>& parameter_sets(const SynthOperator& op, int a, int b) {
  static const SetTable table = make_sets();
  return table.at(&op - synth_operators().data()).at(a).at(b);
}

std::string parameter_text(const SynthOperator& op, const Parameters& parameters,
                           std::string_view key) {
  const std::map<std::string_view, int> numbers = {
      {"dim", parameters.dim},           {"dim1", parameters.dim1},
      {"kernel", parameters.kernel},     {"stride", parameters.stride},
      {"padding", parameters.padding},   {"dilation", parameters.dilation},
      {"groups", parameters.groups},     {"output_padding", parameters.output_padding},
      {"diagonal", parameters.diagonal}, {"size", parameters.size},
      {"scale", parameters.scale},       {"before", parameters.before},
      {"after", parameters.after},
  };
  if (const auto number = numbers.find(key); number != numbers.end()) {
    return std::to_string(number->second);
  }
  if (key == "keepdim") return parameters.keepdim ? "True" : "False";
  if (key == "training") return parameters.training ? "True" : "False";
  if (key == "order") {
    std::string text;
    for (int dim = 0; dim < parameters.rank; ++dim) {
      text += (dim ? ", " : "") + std::to_string(parameters.order[dim]);
    }
    return text;
  }
  const std::vector<Choice> choices = choices_of(op);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].name == key) return std::string(parameters.chosen.at(i));
  }
  return {};
}

}  // namespace kw
