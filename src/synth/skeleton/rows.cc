#include "synth/skeleton/rows.h"

#include <set>
#include <sstream>
#include <string>

#include "ops/operator.h"

namespace kw {
namespace {

struct Reason {
  std::string_view names;  // of rows less "aten."; one star stands for anything
  std::string_view why;
};

constexpr std::string_view kJumps =
    "jumps: what is near one falls either way, and results differ by as much";
constexpr std::string_view kBools = "gives bools, which operators of numbers do not read";
constexpr std::string_view kFinite = "asks what is finite: all is, in a task";
constexpr std::string_view kNaN = "NaN for many of the numbers that results are";
constexpr std::string_view kThree = "reads three results";
constexpr std::string_view kTwo = "gives two results: each by itself is drawn";
constexpr std::string_view kMeet = "elements meet at one place, in no order";
constexpr std::string_view kProduct = "a size of its result is a product of sizes, or a quotient";
constexpr std::string_view kPart = "takes a part: the rest would be work for nobody";
constexpr std::string_view kInside = "what another operator runs inside";
constexpr std::string_view kMemory = "is about memory, not about elements";
constexpr std::string_view kComplex = "of complex numbers";
constexpr std::string_view kVectors = "of vectors: too little work to be a task";
constexpr std::string_view kLabels = "asks for more than any numbers: labels, or probabilities";
constexpr std::string_view kIntegers = "gives integers of a kind that ties decide";
constexpr std::string_view kSeldom = "seldom in models";

// clang-format off
// The first that fits; where none does, that of the class.
constexpr Reason kReasons[] = {
    {"add.Scalar", "is recorded as add.Tensor"}, {"sub.Scalar", "is recorded as sub.Tensor"},
    {"mul.Scalar", "is recorded as mul.Tensor"}, {"div.Scalar", "is recorded as div.Tensor"},
    {"where.Scalar*", "is recorded as where.self"}, {"square.default", "is recorded as pow"},
    {"selu.default", "is recorded as elu"}, {"glu.default", "is recorded as its parts"},
    {"rsub.*", "Sub with its operands changed"}, {"copysign.Scalar", "Abs, or its negative"},
    {"masked_fill.*", "Where with a mask that is given"},
    {"log2.default", "Log times a constant"}, {"log10.default", "Log times a constant"},
    {"logaddexp2.default", "LogAddExp of other units"},
    {"deg2rad.default", "Scale"}, {"rad2deg.default", "Scale"},
    {"clamp_min.Tensor", "Maximum"}, {"clamp_max.Tensor", "Minimum"},
    {"remainder.*", kJumps}, {"fmod.*", kJumps}, {"floor_divide.*", kJumps}, {"div.*_mode", kJumps},
    {"floor.default", kJumps}, {"ceil.default", kJumps}, {"round.*", kJumps},
    {"trunc.default", kJumps}, {"frac.default", kJumps}, {"sign.default", kJumps},
    {"heaviside.default", kJumps}, {"tan.default", "has poles among the numbers that results are"},
    {"lgamma.default", "has poles among the numbers that results are"},
    {"digamma.default", "has poles among the numbers that results are"},
    {"pow.Tensor_Tensor", kNaN}, {"float_power.*", "gives fp64"}, {"pow.Scalar", "Exp2 of a multiple"},
    {"xlogy.*", kNaN}, {"asin.default", kNaN}, {"acos.default", kNaN}, {"acosh.default", kNaN},
    {"atanh.default", kNaN}, {"erfinv.default", kNaN}, {"special_entr.default", kNaN},
    {"logit.default", kNaN},
    {"nan_to_num.default", kFinite}, {"fmax.default", kFinite}, {"fmin.default", kFinite},
    {"is*", kFinite}, {"nan*", kFinite},
    {"lerp.Tensor", kThree}, {"addcdiv.default", kThree}, {"clamp.Tensor", kThree},
    {"signbit.default", kBools}, {"eq.*", kBools}, {"ne.*", kBools}, {"lt.*", kBools},
    {"le.*", kBools}, {"gt.Scalar", kBools}, {"ge.*", kBools}, {"logical_*", kBools},
    {"bitwise_*", kBools}, {"__lshift__.*", "of integers"}, {"__rshift__.*", "of integers"}, {"any.*", kBools}, {"all.*", kBools},
    {"prod.*", "0 or infinite, of more than some numbers"},
    {"cumprod.default", "0 or infinite, of more than some numbers"},
    {"count_nonzero.*", "gives integers, all alike where no number is zero"},
    {"var_mean.*", kTwo}, {"std_mean.*", kTwo}, {"aminmax.default", kTwo},
    {"norm.*", "Norm, by an older name"}, {"trace.default", kSeldom}, {"dist.default", kSeldom},
    {"median.default", "Median of one dim is drawn"}, {"kthvalue.default", "as Median"},
    {"mode.default", "elements that are equal: numbers that are drawn are not"},
    {"_cdist_forward.default", "small distances lose their digits, and which ones hangs on the sizes"},
    {"_euclidean_dist.default", kInside}, {"_embedding_bag*", "asks for offsets in order"},
    {"argsort.default", kIntegers}, {"sort.stable", "Sort, of equal elements"},
    {"bucketize.*", kIntegers}, {"searchsorted.Tensor", kIntegers},
    {"_softmax.default", kInside}, {"_log_softmax.default", kInside}, {"native_*", kInside},
    {"_native_*", kInside}, {"_fused_*", kInside},
    {"_weight_norm_interface.default", "of parameters, not of results"},
    {"mm.default", "Matmul of two dims"}, {"addmv.default", "as Addmm"}, {"addbmm.default", kSeldom},
    {"dot.default", kVectors}, {"vdot.default", kVectors}, {"addr.default", kVectors},
    {"_trilinear.default", kThree},
    {"max_unpool*", kMeet}, {"_upsample_nearest_exact*", "as UpsampleNearest"},
    {"_upsample_*_aa.default", kSeldom}, {"grid_sampler*", "asks for places in [-1, 1]"},
    {"affine_grid_generator.default", "asks for matrices of a kind of their own"},
    {"col2im.default", kProduct}, {"im2col.default", kProduct}, {"repeat.default", "Cat with itself"},
    {"split_with_sizes_copy.default", kPart}, {"clone.default", kMemory},
    {"contiguous.default", kMemory}, {"_to_copy.default", "changes the dtype"},
    {"copy_.default", "works in place"}, {"rot90.default", "Transpose and Flip"},
    {"diag_embed.default", kSeldom}, {"diagonal_copy.default", kPart},
    {"diagonal_scatter.default", kSeldom}, {"select_scatter.default", kSeldom},
    {"slice_scatter.default", kSeldom}, {"block_diag.default", kSeldom},
    {"scatter*", kMeet}, {"index_put.default", kMeet}, {"index_add.default", kMeet},
    {"index_fill.*", kMeet}, {"index_copy.default", kMeet},
    {"index.Tensor", "as IndexSelect and Gather"}, {"take.default", "as Gather"},
    {"masked_scatter.default", "where elements come from hangs on all before"},
    {"binary_cross_entropy.default", kLabels}, {"multi_margin_loss.default", kLabels},
    {"multilabel_margin_loss_forward.default", kLabels}, {"ctc_loss.*", kLabels},
    {"nll_loss2d_forward.default", "as CrossEntropy"},
    {"*view.default", kProduct}, {"reshape.default", kProduct}, {"flatten.*", kProduct},
    {"unflatten.int", kProduct}, {"view_as.default", kProduct}, {"unfold.default", kSeldom},
    {"t.default", "Transpose"}, {"movedim.*", "Permute"},
    {"squeeze.*", "asks for a dim that is one"}, {"expand*", "other calls broadcast"},
    {"select.int", kPart}, {"slice.Tensor", kPart}, {"split*", kPart}, {"unbind.int", kPart},
    {"chunk.default", kPart}, {"narrow.default", kPart}, {"diagonal.default", kPart},
    {"as_strided.default", kMemory}, {"alias.default", kMemory}, {"detach.default", kMemory},
    {"view.dtype", kMemory}, {"view_as_real.default", kComplex},
    {"view_as_complex.default", kComplex}, {"complex.default", kComplex},
    {"polar.default", kComplex}, {"_conj_physical.default", kComplex}, {"angle.default", kComplex},
};
// clang-format on

std::string_view of_class(OpClass cls) {
  switch (cls) {
    case OpClass::kFactory:
      return "reads no tensor";
    case OpClass::kRandom:
      return "draws random numbers, and no kernel can draw the same";
    case OpClass::kRecurrent:
      return "hundreds of dependent steps, and a list of weights";
    case OpClass::kInit:
      return "works in place";
    default:
      return {};
  }
}

bool fits(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return name == pattern;
  return name.size() >= pattern.size() - 1 && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

}  // namespace

const std::vector<const OperatorRow*>& rows_of(const SynthOperator& op) {
  static const std::vector<std::vector<const OperatorRow*>> table = [] {
    std::vector<std::vector<const OperatorRow*>> all;
    for (const SynthOperator& each : synth_operators()) {
      std::istringstream names{std::string(each.rows)};
      all.emplace_back();
      for (std::string name; names >> name;) all.back().push_back(find_operator("aten." + name));
    }
    return all;
  }();
  return table.at(&op - synth_operators().data());
}

std::string_view not_drawn(const OperatorRow& row) {
  static const std::set<const OperatorRow*> drawn = [] {
    std::set<const OperatorRow*> rows;
    for (const SynthOperator& op : synth_operators()) {
      rows.insert(rows_of(op).begin(), rows_of(op).end());
    }
    return rows;
  }();
  if (drawn.contains(&row)) return {};
  constexpr std::string_view kPrefix = "aten.";
  const std::string_view name = row.name.substr(kPrefix.size());
  for (const Reason& reason : kReasons) {
    if (fits(name, reason.names)) return reason.why;
  }
  return of_class(row.cls);
}

}  // namespace kw
