#include "synth/skeleton/parameters.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>

namespace kw {
namespace {

using Sets = std::vector<Parameters>;

constexpr std::array kGroups = {1, 2, 4, 8};
constexpr std::array kScales = {2, 3};
constexpr std::array kBoth = {false, true};

// The ranks of a call's operands.
struct Ranks {
  int first;
  int second;   // 0 if there is one operand
  int spatial;  // SynthOperator::spatial

  bool both(int rank) const { return first == rank && second == rank; }
  bool equal() const { return first == second; }
  // The first operand is a batch of windows: it has dims for the batch and the channels, too.
  bool is_windows() const { return first == spatial + 2; }
};

Sets with_rank(Sets sets, int rank) {
  for (Parameters& set : sets) set.rank = rank;
  return sets;
}

// Returns the one set without parameters, for a result of this rank.
Sets of_rank(int rank) { return {{.rank = rank}}; }

// Returns each of `sets` with each of `values` in the member.
template <typename T, typename Values>
Sets times(const Sets& sets, T Parameters::*member, const Values& values) {
  Sets product;
  for (const Parameters& set : sets) {
    for (const auto& value : values) {
      product.push_back(set);
      product.back().*member = value;
    }
  }
  return product;
}

std::vector<int> from_to(int first, int end) {
  std::vector<int> numbers;
  for (int i = first; i < end; ++i) numbers.push_back(i);
  return numbers;
}

// Returns a set for each dim of a tensor.
Sets each_dim(int rank, int result_rank) {
  return times(of_rank(result_rank), &Parameters::dim, from_to(0, rank));
}

Sets affine_or_not(int rank) { return times(of_rank(rank), &Parameters::affine, kBoth); }

// Returns the windows of pooling and convolution: kernel, stride, padding, dilation.
Sets windows(int least_kernel, bool dilated, int rank) {
  Sets sets;
  for (int kernel = least_kernel; kernel <= 5; ++kernel) {
    for (int stride = 1; stride <= 3; ++stride) {
      for (int padding = 0; 2 * padding <= kernel; ++padding) {
        for (int dilation = 1; dilation <= (dilated && kernel > 1 ? 2 : 1); ++dilation) {
          sets.push_back({.kernel = kernel,
                          .stride = stride,
                          .padding = padding,
                          .dilation = dilation,
                          .rank = rank});
        }
      }
    }
  }
  return sets;
}

Sets transposed_windows(int rank) {
  Sets sets;
  for (const Parameters& window : windows(1, true, rank)) {
    for (int more = 0; more < window.stride; ++more) {  // output_padding is below the stride
      sets.push_back(window);
      sets.back().output_padding = more;
    }
  }
  return sets;
}

Sets convolutions(const Sets& windows) {
  return times(times(windows, &Parameters::affine, kBoth), &Parameters::groups, kGroups);
}

// Returns reductions over one dim, which stays as a 1 with keepdim. No reduction leaves no dim.
Sets reductions(const Ranks& r) {
  Sets sets;
  for (int dim = 0; dim < r.first; ++dim) {
    for (bool keepdim : kBoth) {
      if (r.first == 1 && !keepdim) continue;
      sets.push_back({.dim = dim, .keepdim = keepdim, .rank = keepdim ? r.first : r.first - 1});
    }
  }
  return sets;
}

Sets transpositions(const Ranks& r) {
  Sets sets;
  for (int dim = 0; dim < r.first; ++dim) {
    for (int dim1 = dim + 1; dim1 < r.first; ++dim1) {
      sets.push_back({.dim = dim, .dim1 = dim1, .rank = r.first});
    }
  }
  return sets;
}

Sets permutations(const Ranks& r) {
  Sets sets;
  Parameters each{.rank = r.first};
  std::iota(each.order.begin(), each.order.end(), 0);
  const auto end = each.order.begin() + r.first;
  while (std::next_permutation(each.order.begin(), end)) sets.push_back(each);
  return sets;
}

Sets paddings(const Ranks& r) {
  Sets sets;
  for (int before : {0, 1, 2}) {
    for (int after : {0, 1, 2}) {
      if (before + after > 0) sets.push_back({.before = before, .after = after, .rank = r.first});
    }
  }
  return sets;
}

Sets layer_norms(const Ranks& r) {
  return times(affine_or_not(r.first), &Parameters::normalized, from_to(1, r.first + 1));
}

Sets border_paddings(const Ranks& r) {
  if (!r.is_windows()) return {};
  return times(of_rank(r.first), &Parameters::padding, std::array{1, 2, 3});
}

Sets pixel_shuffles(const Ranks& r) {
  return r.first == 4 ? times(of_rank(4), &Parameters::scale, kScales) : Sets{};
}

Sets same_rank(const Ranks& r) { return of_rank(r.first); }
Sets dims_of_first(const Ranks& r) { return each_dim(r.first, r.first); }

// A domain's number of operands, and its sets for operands of given ranks: none for ranks outside
// the domain.
struct DomainRow {
  Domain domain;
  int operands;
  Sets (*sets)(const Ranks& r);
};

// In the order of Domain.
constexpr DomainRow kDomains[] = {
    {Domain::kUnary, 1, same_rank},
    {Domain::kBinary, 2, [](const Ranks& r) { return of_rank(std::max(r.first, r.second)); }},
    {Domain::kMatmul, 2,
     [](const Ranks& r) {
       const bool fits = r.first >= 2 && (r.second == 2 || r.equal());
       return fits ? of_rank(r.first) : Sets{};
     }},
    {Domain::kBmm, 2, [](const Ranks& r) { return r.both(3) ? of_rank(3) : Sets{}; }},
    {Domain::kTranspose, 1, transpositions},
    {Domain::kReduce, 1, reductions},
    {Domain::kSpread, 1, reductions},
    {Domain::kArg, 1, [](const Ranks& r) { return with_rank(reductions(r), 0); }},
    {Domain::kScan, 1, dims_of_first},
    {Domain::kSoftmax, 1, dims_of_first},
    {Domain::kBatchNorm, 1,
     [](const Ranks& r) {
       return r.first >= 2 ? times(affine_or_not(r.first), &Parameters::training, kBoth) : Sets{};
     }},
    {Domain::kLayerNorm, 1, layer_norms},
    {Domain::kGroupNorm, 1,
     [](const Ranks& r) {
       return r.first >= 2 ? times(affine_or_not(r.first), &Parameters::groups, kGroups) : Sets{};
     }},
    {Domain::kInstanceNorm, 1,
     [](const Ranks& r) { return r.first >= 3 ? affine_or_not(r.first) : Sets{}; }},
    {Domain::kAvgPool, 1,
     [](const Ranks& r) { return r.is_windows() ? windows(2, false, r.first) : Sets{}; }},
    {Domain::kMaxPool, 1,
     [](const Ranks& r) { return r.is_windows() ? windows(2, true, r.first) : Sets{}; }},
    {Domain::kConv, 2,
     [](const Ranks& r) {
       const bool fits = r.is_windows() && r.equal();
       return fits ? convolutions(windows(1, true, r.first)) : Sets{};
     }},
    {Domain::kConvTranspose, 2,
     [](const Ranks& r) {
       const bool fits = r.is_windows() && r.equal();
       return fits ? convolutions(transposed_windows(r.first)) : Sets{};
     }},
    {Domain::kTriangle, 1,
     [](const Ranks& r) {
       return r.first >= 2 ? times(of_rank(r.first), &Parameters::diagonal, from_to(-3, 4))
                           : Sets{};
     }},
    {Domain::kCat, 2, [](const Ranks& r) { return r.equal() ? dims_of_first(r) : Sets{}; }},
    {Domain::kStack, 2,
     [](const Ranks& r) {
       const bool fits = r.equal() && r.first < kRanks;
       return fits ? each_dim(r.first + 1, r.first + 1) : Sets{};
     }},
    {Domain::kTotal, 1, [](const Ranks&) { return of_rank(0); }},
    {Domain::kLoss, 2, [](const Ranks& r) { return r.equal() ? of_rank(0) : Sets{}; }},
    {Domain::kClassLoss, 1, [](const Ranks& r) { return r.first == 2 ? of_rank(0) : Sets{}; }},
    {Domain::kRmsNorm, 1, layer_norms},
    {Domain::kPrelu, 1, [](const Ranks& r) { return r.first >= 2 ? of_rank(r.first) : Sets{}; }},
    {Domain::kTop, 1,
     [](const Ranks& r) {
       return times(dims_of_first(r), &Parameters::size, std::array{2, 4, 8});
     }},
    {Domain::kAdaptivePool, 1,
     [](const Ranks& r) {
       return r.is_windows() ? times(of_rank(r.first), &Parameters::size, std::array{2, 4, 7})
                             : Sets{};
     }},
    {Domain::kGlobalPool, 1,
     [](const Ranks& r) { return r.is_windows() ? of_rank(r.first) : Sets{}; }},
    {Domain::kUpsample, 1,
     [](const Ranks& r) {
       return r.is_windows() ? times(of_rank(r.first), &Parameters::scale, kScales) : Sets{};
     }},
    {Domain::kPad, 1, paddings},
    {Domain::kReflect, 1, border_paddings},
    {Domain::kReplicate, 1, border_paddings},
    {Domain::kWrap, 1, border_paddings},
    {Domain::kRepeat, 1,
     [](const Ranks& r) { return times(dims_of_first(r), &Parameters::scale, kScales); }},
    {Domain::kPixelShuffle, 1, pixel_shuffles},
    {Domain::kPixelUnshuffle, 1, pixel_shuffles},
    {Domain::kChannelShuffle, 1,
     [](const Ranks& r) {
       return r.first >= 3 ? times(of_rank(r.first), &Parameters::groups, std::array{2, 4, 8})
                           : Sets{};
     }},
    {Domain::kPermute, 1, permutations},
    {Domain::kUnsqueeze, 1,
     [](const Ranks& r) { return r.first < kRanks ? each_dim(r.first + 1, r.first + 1) : Sets{}; }},
    {Domain::kGlu, 1, dims_of_first},
    {Domain::kLinear, 2,
     [](const Ranks& r) { return r.second == 2 ? affine_or_not(r.first) : Sets{}; }},
    {Domain::kMatVec, 2,
     [](const Ranks& r) { return r.first == 2 && r.second == 1 ? of_rank(1) : Sets{}; }},
    {Domain::kAddmm, 2, [](const Ranks& r) { return r.both(2) ? of_rank(2) : Sets{}; }},
    {Domain::kBaddbmm, 2, [](const Ranks& r) { return r.both(3) ? of_rank(3) : Sets{}; }},
    {Domain::kAttention, 2,
     [](const Ranks& r) { return r.both(3) || r.both(4) ? of_rank(r.first) : Sets{}; }},
    {Domain::kEmbedding, 1,
     [](const Ranks& r) {
       return r.first == 2 ? Sets{{.index_rank = 1, .rank = 2}, {.index_rank = 2, .rank = 3}}
                           : Sets{};
     }},
    {Domain::kIndexSelect, 1, dims_of_first},
    {Domain::kGather, 1, dims_of_first},
};

constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < std::size(kDomains); ++i) {
    if (static_cast<size_t>(kDomains[i].domain) != i) return false;
  }
  return std::size(kDomains) == static_cast<size_t>(Domain::kGather) + 1;
}
static_assert(rows_are_in_order());

const DomainRow& row_of(Domain domain) { return kDomains[static_cast<size_t>(domain)]; }

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

// Returns the sets of the operator's domain, each with each value of its choices.
Sets all_sets(const SynthOperator& op, int a, int b) {
  Sets sets = row_of(op.domain).sets({a, b, op.spatial});
  for (const Choice& choice : choices_of(op)) {
    Sets product;
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
using SetTable = std::vector<std::array<std::array<Sets, kRanks + 1>, kRanks + 1>>;

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

int operand_count(Domain domain) { return row_of(domain).operands; }

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
