#include "synth/sizes/shapes.h"

#include <algorithm>

#include "ops/operator.h"
#include "synth/skeleton/rows.h"

namespace kw {
void Shaper::add_new(Role role, const Shape& shape, int indexed) {
  out_.steps.back().operands.push_back(static_cast<int>(out_.tensors.size()));
  out_.tensors.push_back(shape);
  out_.fresh_of.push_back(static_cast<int>(out_.fresh.size()));
  out_.fresh.push_back({role, static_cast<int>(out_.steps.size()) - 1, indexed});
}

void Shaper::add_result(const Shape& shape) {
  out_.tensors.push_back(shape);
  out_.fresh_of.push_back(-1);
  out_.steps.back().result = static_cast<int>(out_.tensors.size()) - 1;
}

Shape Shaper::free_shape(int rank) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(sizes().variable());
  return shape;
}

// The result that an operand names, or a new tensor of this shape.
Shape Shaper::take(const Operand& operand, Role role, const auto& make_shape) {
  if (operand.step >= 0) {
    const int id = out_.steps[operand.step].result;
    out_.steps.back().operands.push_back(id);
    return tensor(id);
  }
  const Shape shape = make_shape();
  add_new(role, shape);
  return shape;
}
Shape Shaper::take(const Operand& operand) {
  return take(operand, Role::kInput, [&] { return free_shape(operand.rank); });
}

// A result must have this shape; a new tensor is given it.
void Shaper::take_as(const Operand& operand, const Shape& wanted, Role role) {
  const Shape shape = take(operand, role, [&] { return wanted; });
  for (size_t d = 0; d < wanted.size(); ++d) sizes().equal(shape[d], wanted[d]);
}

// Broadcasts two operands, aligned at the last dim. The mask of a new operand says of each dim
// whether it is one. If it is not, the dim is as large as the other operand's. It is a separate
// variable if the other has no such dim, or has a one there. Two results must agree in dims where
// neither is known to be one.
Shape Shaper::broadcast() {
  const Operands& operands = step_->operands;
  const bool both_new = operands[0].step < 0 && operands[1].step < 0;
  const size_t rank = std::max(operands[0].rank, operands[1].rank);
  Shape shapes[2];
  for (int i : {0, 1}) {
    if (operands[i].step >= 0)
      shapes[i] = result_of_step(operands[i].step);
    else
      shapes[i].assign(operands[i].rank, -1);
  }
  Shape result;
  result.resize(rank, -1);
  for (size_t back = 0; back < rank; ++back) {
    const auto at = [&](int i) -> SizeId* {
      return back < shapes[i].size() ? &shapes[i][shapes[i].size() - 1 - back] : nullptr;
    };
    const auto large = [&](int i) { return (operands[i].mask >> back & 1) != 0; };
    SizeId *left = at(0), *right = at(1), *out = &result[rank - 1 - back];
    if (both_new) {
      if (!left || !right) {
        *out = *(left ? left : right) = sizes().variable();
      } else {
        *out = sizes().variable(large(0) && large(1) ? 1 : 2);
        *left = large(0) ? *out : one();
        *right = large(1) ? *out : one();
      }
      continue;
    }
    for (int i : {0, 1}) {
      if (operands[i].step >= 0 || !at(i)) continue;
      SizeId* other = at(1 - i);
      if (!large(i)) {
        *at(i) = one();
      } else if (other && !sizes().is_one(*other)) {
        sizes().at_least(*other, 2);
        *at(i) = *other;
      } else {
        *at(i) = sizes().variable(2);
      }
    }
    if (!left || !right) {
      *out = *(left ? left : right);
    } else if (sizes().is_one(*left)) {
      *out = *right;
    } else {
      if (!sizes().is_one(*right)) sizes().equal(*left, *right);
      *out = *left;
    }
  }
  for (int i : {0, 1}) take(operands[i], Role::kInput, [&] { return shapes[i]; });
  return result;
}

// Results have these dims in common; a new tensor has what the other one asks for, and dims of its
// own elsewhere.
std::array<Shape, 2> Shaper::take_two(std::span<const SameDim> same, Role right_role) {
  const Operands& operands = step_->operands;
  const auto at = [](Shape& shape, int dim) -> SizeId& { return shape[shape.size() + dim]; };
  Shape left = operands[0].step >= 0 ? result_of_step(operands[0].step) : Shape();
  Shape right = operands[1].step >= 0 ? result_of_step(operands[1].step) : Shape();
  if (left.empty()) {
    left = free_shape(operands[0].rank);
    if (!right.empty()) {
      for (const SameDim& dims : same) at(left, dims.left) = at(right, dims.right);
    }
  }
  if (right.empty()) right.assign(operands[1].rank, -1);
  for (const SameDim& dims : same) at(right, dims.right) = at(left, dims.left);
  for (SizeId& size : right) {
    if (size < 0) size = sizes().variable();
  }
  take(operands[0], Role::kInput, [&] { return left; });
  take_as(operands[1], right, right_role);
  return {left, right};
}

// (..., M, K) with (K, N), or with (..., K, N) of the same leading dims; a linear layer's weight is
// (N, K), and attention takes (..., L, E) with (..., S, E).
Shape Shaper::product() {
  const Domain domain = step_->op->domain;
  const int left_rank = step_->operands[0].rank, right_rank = step_->operands[1].rank;
  const bool turned = domain == Domain::kLinear || domain == Domain::kAttention;
  const int contracted = turned || domain == Domain::kMatVec ? -1 : -2;
  std::vector<SameDim> same{{-1, contracted}};
  if (right_rank > 2) {
    for (int dim = 3; dim <= left_rank; ++dim) same.push_back({-dim, -dim});
  }
  const bool attention = domain == Domain::kAttention;
  const auto [left, right] = take_two(same, attention ? Role::kInput : Role::kWeight);
  Shape result = left;
  if (domain == Domain::kMatVec) {
    result.pop_back();
  } else if (!attention) {
    result.back() = right[right_rank - (turned ? 2 : 1)];
  }
  if (step_->parameters->affine || domain == Domain::kAddmm || domain == Domain::kBaddbmm) {
    add_new(Role::kBias, {result.back()});
  }
  return result;
}

// What indices of the call's own pick out.
Shape Shaper::lookup() {
  const Parameters& parameters = *step_->parameters;
  const Shape shape = take(step_->operands[0]);
  Shape index, result = shape;
  if (step_->op->domain == Domain::kEmbedding) {
    index = free_shape(parameters.index_rank);
    result = index;
    result.push_back(shape[1]);
  } else {
    result[parameters.dim] = sizes().variable();
    index = step_->op->domain == Domain::kGather ? result : Shape{result[parameters.dim]};
  }
  add_new(Role::kIndex, index, parameters.dim);
  return result;
}

Shape Shaper::reduce() {
  Shape shape = take(step_->operands[0]);
  const Parameters& parameters = *step_->parameters;
  if (step_->op->domain == Domain::kSpread) sizes().at_least(shape[parameters.dim], 2);
  if (parameters.keepdim) {
    shape[parameters.dim] = one();
  } else {
    shape.erase(shape.begin() + parameters.dim);
  }
  return shape;
}

void Shaper::add_affine(const Shape& shape, bool scale) {
  if (scale) add_new(Role::kScale, shape);
  add_new(Role::kBias, shape);
}

Shape Shaper::normalise() {
  const Parameters& parameters = *step_->parameters;
  const Shape shape = take(step_->operands[0]);
  Shape weight{shape.size() > 1 ? shape[1] : shape[0]};
  switch (step_->op->domain) {
    case Domain::kBatchNorm:
      if (parameters.training) {  // more than one element of each channel
        sizes().at_least(shape[0], 2);
      } else {
        add_new(Role::kRunningMean, weight);
        add_new(Role::kRunningVar, weight);
      }
      break;
    case Domain::kLayerNorm:
    case Domain::kRmsNorm:
      weight.assign(shape.end() - parameters.normalized, shape.end());
      sizes().at_least(shape.back(), 2);
      break;
    case Domain::kGroupNorm: {
      const SizeId of_group = sizes().variable(shape.size() == 2 ? 2 : 1);
      sizes().equal(shape[1], sizes().affine(of_group, 0, 1, parameters.groups, 0));
      if (shape.size() > 2) sizes().at_least(shape.back(), 2);
      break;
    }
    default:
      sizes().at_least(shape.back(), 2);
  }
  if (step_->op->domain == Domain::kRmsNorm) {
    if (parameters.affine) add_new(Role::kScale, weight);
  } else if (parameters.affine) {
    add_affine(weight, true);
  }
  return shape;
}

Shape Shaper::window() {
  const Parameters& parameters = *step_->parameters;
  Shape shape = take(step_->operands[0]);
  const int64_t extent = int64_t{parameters.dilation} * (parameters.kernel - 1) + 1;
  // PyTorch's avg_pool3d alone asks that a window fits without the padding.
  const bool whole = step_->op->domain == Domain::kAvgPool && step_->op->spatial == 3;
  for (size_t d = 2; d < shape.size(); ++d) {
    if (whole) sizes().at_least(shape[d], extent);
    shape[d] = sizes().window(shape[d], extent, parameters.stride, parameters.padding);
  }
  return shape;
}

// (N, C, ...) with weights (Cout, C / groups, k, ...); transposed with (C, Cout / groups, k, ...).
Shape Shaper::convolve() {
  const Parameters& parameters = *step_->parameters;
  const bool transposed = step_->op->domain == Domain::kConvTranspose;
  const Shape input = take(step_->operands[0]);
  const auto grouped = [&](SizeId size) {  // a group's share
    if (parameters.groups == 1) return size;
    const SizeId share = sizes().variable();
    sizes().equal(size, sizes().affine(share, 0, 1, parameters.groups, 0));
    return share;
  };
  const SizeId share_in = grouped(input[1]);
  const SizeId share_out = sizes().variable();
  const SizeId out = sizes().affine(share_out, 0, 1, parameters.groups, 0);
  const SizeId kernel = sizes().constant(parameters.kernel);
  Shape weight = transposed ? Shape{input[1], share_out} : Shape{out, share_in};
  weight.resize(input.size(), kernel);
  take_as(step_->operands[1], weight, Role::kWeight);
  if (parameters.affine) add_affine({out}, false);

  const int64_t extent = int64_t{parameters.dilation} * (parameters.kernel - 1) + 1;
  Shape result{input[0], out};
  for (size_t d = 2; d < input.size(); ++d) {
    if (transposed) {
      const SizeId size =
          sizes().affine(input[d], -1, 1, parameters.stride,
                         extent - 2 * parameters.padding + parameters.output_padding);
      sizes().at_least(size, 1);
      result.push_back(size);
    } else {
      result.push_back(sizes().window(input[d], extent, parameters.stride, parameters.padding));
    }
  }
  return result;
}

Shape Shaper::join() {
  const Parameters& parameters = *step_->parameters;
  const bool cat = step_->op->domain == Domain::kCat;
  const int rank = step_->operands[0].rank;
  std::vector<SameDim> same;
  for (int dim = 0; dim < rank; ++dim) {
    if (!cat || dim != parameters.dim) same.push_back({dim - rank, dim - rank});
  }
  const auto [left, right] = take_two(same);
  Shape result = left;
  if (cat) {
    result[parameters.dim] = sizes().sum(left[parameters.dim], right[parameters.dim]);
  } else if (step_->op->domain == Domain::kStack) {
    result.insert(result.begin() + parameters.dim, sizes().constant(2));
  } else {
    result.clear();  // a loss
  }
  return result;
}

// Dims in another order, or parted, or put together by a constant number.
Shape Shaper::rearrange() {
  const Parameters& parameters = *step_->parameters;
  const Shape shape = take(step_->operands[0]);
  const auto times = [&](SizeId size, int64_t by) { return sizes().affine(size, 0, 1, by, 0); };
  const auto part = [&](SizeId size, int64_t by) {  // one of `by` equal ones
    const SizeId share = sizes().variable();
    sizes().equal(size, times(share, by));
    return share;
  };
  const int64_t scale = parameters.scale;
  Shape result = shape;
  switch (step_->op->domain) {
    case Domain::kTranspose:
      std::swap(result[parameters.dim], result[parameters.dim1]);
      break;
    case Domain::kPermute:
      for (size_t d = 0; d < shape.size(); ++d) result[d] = shape[parameters.order[d]];
      break;
    case Domain::kUnsqueeze:
      result.insert(result.begin() + parameters.dim, one());
      break;
    case Domain::kGlu:
      result[parameters.dim] = part(shape[parameters.dim], 2);
      break;
    case Domain::kRepeat:
      result[parameters.dim] = times(shape[parameters.dim], scale);
      break;
    case Domain::kChannelShuffle:
      part(shape[1], parameters.groups);
      break;
    case Domain::kPixelShuffle:
      result[1] = part(shape[1], scale * scale);
      for (size_t d : {2, 3}) result[d] = times(shape[d], scale);
      break;
    default:  // kPixelUnshuffle
      result[1] = times(shape[1], scale * scale);
      for (size_t d : {2, 3}) result[d] = part(shape[d], scale);
  }
  return result;
}

// Dims that become larger, or have a size that is given.
Shape Shaper::resize() {
  const Parameters& parameters = *step_->parameters;
  Shape shape = take(step_->operands[0]);
  const auto longer = [&](SizeId& size, int64_t by) { size = sizes().affine(size, 0, 1, 1, by); };
  const auto given = [&](SizeId& size, int64_t least) {
    sizes().at_least(size, least);
    size = sizes().constant(least);
  };
  const Domain domain = step_->op->domain;
  if (domain == Domain::kTop) {
    given(shape[parameters.dim], parameters.size);
  } else if (domain == Domain::kPad) {
    longer(shape.back(), parameters.before + parameters.after);
  } else {
    for (size_t d = 2; d < shape.size(); ++d) {
      if (domain == Domain::kAdaptivePool) {
        given(shape[d], parameters.size);
      } else if (domain == Domain::kGlobalPool) {
        given(shape[d], 1);
      } else if (domain == Domain::kUpsample) {
        shape[d] = sizes().affine(shape[d], 0, 1, parameters.scale, 0);
      } else {
        // A reflection leaves out the element at the edge.
        if (domain != Domain::kReplicate) {
          sizes().at_least(shape[d], parameters.padding + (domain == Domain::kReflect));
        }
        longer(shape[d], 2 * parameters.padding);
      }
    }
  }
  return shape;
}

Shape Shaper::result() {
  switch (step_->op->domain) {
    case Domain::kUnary:
    case Domain::kScan:
    case Domain::kTriangle:
      return take(step_->operands[0]);
    case Domain::kSoftmax: {
      const Shape shape = take(step_->operands[0]);
      sizes().at_least(shape[step_->parameters->dim], 2);
      return shape;
    }
    case Domain::kTranspose:
    case Domain::kPermute:
    case Domain::kUnsqueeze:
    case Domain::kGlu:
    case Domain::kRepeat:
    case Domain::kPixelShuffle:
    case Domain::kPixelUnshuffle:
    case Domain::kChannelShuffle:
      return rearrange();
    case Domain::kBinary:
      return broadcast();
    case Domain::kMatmul:
    case Domain::kBmm:
    case Domain::kLinear:
    case Domain::kMatVec:
    case Domain::kAddmm:
    case Domain::kBaddbmm:
    case Domain::kAttention:
      return product();
    case Domain::kReduce:
    case Domain::kSpread:
    case Domain::kArg:
      return reduce();
    case Domain::kBatchNorm:
    case Domain::kLayerNorm:
    case Domain::kGroupNorm:
    case Domain::kInstanceNorm:
    case Domain::kRmsNorm:
      return normalise();
    case Domain::kAvgPool:
    case Domain::kMaxPool:
      return window();
    case Domain::kConv:
    case Domain::kConvTranspose:
      return convolve();
    case Domain::kCat:
    case Domain::kStack:
    case Domain::kLoss:
      return join();
    case Domain::kTotal:
      take(step_->operands[0]);
      return {};
    case Domain::kClassLoss: {
      const Shape shape = take(step_->operands[0]);
      sizes().at_least(shape[1], 2);
      add_new(Role::kIndex, {shape[0]}, 1);
      return {};
    }
    case Domain::kPrelu: {
      const Shape shape = take(step_->operands[0]);
      add_new(Role::kScale, {shape[1]});
      return shape;
    }
    case Domain::kTop:
    case Domain::kAdaptivePool:
    case Domain::kGlobalPool:
    case Domain::kUpsample:
    case Domain::kPad:
    case Domain::kReflect:
    case Domain::kReplicate:
    case Domain::kWrap:
      return resize();
    case Domain::kEmbedding:
    case Domain::kIndexSelect:
    case Domain::kGather:
      return lookup();
  }
  return {};
}

// As program/cost.h counts: for each multiply-add of products, attention and convolutions,
// elsewhere for each element of the largest tensor of the step.
void Shaper::add_flops(const SynthOperator& op, const ShapedStep& made) {
  const Shape& result = tensor(made.result);
  const Shape& first = tensor(made.operands[0]);
  for (const OperatorRow* row : rows_of(op)) {
    if (row->cls == OpClass::kView || row->flops == 0) continue;
    FlopsTerm term{row->flops, result, {}};
    if (row->cls == OpClass::kMatmul) {
      term.a.push_back(first.back());
    } else if (row->cls == OpClass::kAttention) {
      const Shape& keys = tensor(made.operands[1]);
      term.a.push_back(keys[keys.size() - 2]);
    } else if (row->cls == OpClass::kConv) {
      const Shape& weight = tensor(made.operands[1]);
      if (op.domain == Domain::kConvTranspose) term.a = first;
      term.a.append(weight.begin() + 1, weight.end());
    } else if (op.domain != Domain::kGlu) {  // whose parts work on halves
      term.b = first;
    }
    out_.flops.push_back(std::move(term));
  }
}

void Shaper::restart() {
  out_.sizes.clear();
  out_.tensors.clear();
  out_.fresh.clear();
  out_.fresh_of.clear();
  out_.steps.clear();
  out_.flops.clear();
  operators_.clear();
}

bool Shaper::add(const SynthStep& step) {
  step_ = &step;
  out_.steps.emplace_back();
  operators_.push_back(step.op);
  add_result(result());
  return sizes().solved() != Solved::kContradiction;
}

ShapedSkeleton Shaper::finish() {
  for (const Shape& tensor : out_.tensors) {
    for (SizeId size : tensor) sizes().at_least(size, 1);
  }
  for (size_t i = 0; i < operators_.size(); ++i) add_flops(*operators_[i], out_.steps[i]);
  return std::move(out_);
}

bool only_views(const Skeleton& skeleton) {
  return std::all_of(skeleton.begin(), skeleton.end(), [](const SynthStep& step) {
    const auto& rows = rows_of(*step.op);
    return std::all_of(rows.begin(), rows.end(),
                       [](const OperatorRow* row) { return row->cls == OpClass::kView; });
  });
}

ShapedSkeleton shape(const Skeleton& skeleton) {
  Shaper shaper;
  for (const SynthStep& step : skeleton) {
    if (!shaper.add(step)) break;
  }
  return shaper.finish();
}

}  // namespace kw
