#include "executor/replay/vary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "executor/aten/aten.h"
#include "executor/aten/guarded_memory.h"
#include "executor/aten/seeds.h"
#include "executor/compare/errors.h"
#include "executor/discrete/integers.h"

namespace kw::exec {
namespace {

constexpr int64_t kOneOf = 16;  // one of so many indices of a dimension is changed

// Returns one tensor for each storage, which covers the whole storage. So a change in place reaches
// every view once.
std::vector<at::Tensor> whole_storages(const std::vector<at::Tensor>& tensors) {
  std::set<const void*> seen;
  std::vector<at::Tensor> out;
  for (const at::Tensor& given : tensors) {
    const at::Tensor tensor = parts_of(given);
    if (tensor.storage().nbytes() == 0) continue;
    if (!seen.insert(tensor.storage().unsafeGetStorageImpl()).second) continue;
    const int64_t count = tensor.storage().nbytes() / tensor.element_size();
    out.push_back(tensor.as_strided({count}, {1}, 0));
  }
  return out;
}

// Returns the elements of `tensor`, each once. Dimensions that repeat elements (stride 0) keep one
// index. If other elements overlap, as in windows, returns the whole storage.
at::Tensor without_repeats(at::Tensor tensor) {
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) tensor = tensor.narrow(dim, 0, 1);
  }
  return overlaps(tensor.sizes(), tensor.strides()) ? whole_storages({tensor}).at(0) : tensor;
}

// Returns the floating inputs as views in which every element occurs once, and in one view only.
// They can therefore be changed along their dimensions. An input that shares elements with an
// earlier one is left out.
std::vector<at::Tensor> floating_inputs(const std::vector<at::Tensor>& inputs) {
  std::map<const void*, std::vector<at::Tensor>> by_storage;
  std::vector<at::Tensor> out;
  for (const at::Tensor& given : inputs) {
    const at::Tensor input = parts_of(given);
    if (!input.is_floating_point() || input.numel() == 0) continue;
    const at::Tensor own = without_repeats(input);
    std::vector<at::Tensor>& others = by_storage[own.storage().unsafeGetStorageImpl()];
    at::Tensor taken;  // by element of the storage
    bool other_type = false;
    for (const at::Tensor& other : others) {
      other_type = other_type || other.element_size() != own.element_size();
      if (other_type) break;
      const int64_t count = own.storage().nbytes() / own.element_size();
      if (!taken.defined()) taken = at::zeros({count}, own.options().dtype(at::kBool));
      taken.as_strided(other.sizes(), other.strides(), other.storage_offset()).fill_(true);
    }
    const auto place = [&] {
      return taken.as_strided(own.sizes(), own.strides(), own.storage_offset());
    };
    if (other_type || (taken.defined() && place().any().item<bool>())) continue;
    others.push_back(own);
    out.push_back(own);
  }
  return out;
}

// Gives stretches along each dimension different scales, and makes elements large at both ends and
// at a few places between. One stretch of rows is so small that an epsilon shows compared with
// their squares. So a candidate that reads only a part gives another result, whichever part it
// reads. The same holds if it leaves out the last of millions of elements. No element becomes more
// than ten times as large.
void make_uneven(at::Tensor tensor) {
  constexpr int64_t kStretches = 8, kMostBetween = 6;
  constexpr double kLargest = 10, kSmall = 0x1p-7;
  const auto options = at::TensorOptions().dtype(at::kFloat);  // drawn on the CPU
  double largest = 1;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    const int64_t size = tensor.size(dim);
    if (size < 2) continue;
    const bool inner =
        dim >= tensor.dim() - 2;  // outer dimensions multiply the range of inner ones
    const double large = is_vector(tensor) ? 64 : inner ? 16 : 2;
    at::Tensor scales = at::randint(inner ? -3 : -1, 1, {kStretches}, options).exp2();
    const at::Tensor stretch = at::arange(size, at::kLong).mul(kStretches).floor_divide(size);
    at::Tensor scale = scales.index_select(0, stretch);
    if (size >= kStretches) {
      largest *= large;
      scale[0] = large;
      scale[size - 1] = large;
      const int64_t between = std::min(kMostBetween, size / kStretches);
      scale.index_fill_(0, at::randint(size, {between}, at::kLong), large);
    }
    if (dim == 0 && tensor.dim() > 1) scale.masked_fill_(stretch.eq(kStretches / 2), kSmall);
    std::vector<int64_t> shape(static_cast<size_t>(tensor.dim()), 1);
    shape[dim] = size;
    tensor.mul_(scale.reshape(shape).to(tensor.options()));
  }
  tensor.mul_(kLargest / largest);
}

// Sets a quarter of the elements to zero, and a sixteenth of the indices of each dimension, at
// least one.
void put_zeros(at::Tensor tensor) {
  tensor.masked_fill_(at::empty_like(tensor, at::kBool).bernoulli_(0.25), 0);
  for (int64_t dim = 0; tensor.dim() > 1 && dim < tensor.dim(); ++dim) {
    const int64_t size = tensor.size(dim);
    if (size < 2) continue;
    const at::Tensor which =
        at::randperm(size, at::kLong).narrow(0, 0, (size + kOneOf - 1) / kOneOf);
    tensor.index_fill_(dim, which.to(tensor.device()), 0);
  }
}

// Scales up by 64. In an eighth of the rows each, the first or the last element becomes twice as
// large as all others, which a maximum of the rest leaves far behind.
void put_outliers(at::Tensor tensor) {
  constexpr double kRows = 0.125;
  tensor.mul_(64);
  if (tensor.dim() == 0 || tensor.size(-1) < 2) return;
  const at::Tensor largest = tensor.abs().amax().mul(2);
  for (const int64_t end : {int64_t{0}, tensor.size(-1) - 1}) {
    at::Tensor column = tensor.select(-1, end);
    column.copy_(at::where(at::empty_like(column, at::kBool).bernoulli_(kRows), largest, column));
  }
}

// Puts NaN and both infinities in a few places each.
void put_not_finite(at::Tensor flat) {
  constexpr int64_t kOneOfElements = 1024;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
    const int64_t count = flat.numel() / kOneOfElements + 1;
    flat.index_fill_(0, at::randint(flat.numel(), {count}, at::kLong).to(flat.device()), value);
  }
}

// Rounds to multiples of about half the RMS, a power of two. A row of normal numbers then has
// several largest ones.
void put_ties(at::Tensor flat) {
  const double rms = flat.to(at::kDouble).square().mean().sqrt().item<double>();
  if (!(rms > 0) || !std::isfinite(rms)) return;
  const double step = std::exp2(std::floor(std::log2(rms)));
  flat.copy_(flat.div(step).round_().mul_(step));
}

void vary_storage(at::Tensor flat, Variation variation, uint64_t seed) {
  switch (variation) {
    case Variation::kScaleDown:
      flat.mul_(0.1);
      break;
    case Variation::kScaleUp:
      flat.mul_(10);
      break;
    case Variation::kFar:
      flat.mul_(64);
      break;
    case Variation::kNegative:
      flat.abs_().neg_();
      break;
    case Variation::kMixedSigns:
      flat.mul_(at::empty_like(flat).bernoulli_(0.5).mul_(2).sub_(1));
      break;
    case Variation::kIntegers:
      make_integers(flat, seed);
      break;
    case Variation::kBlank:
      flat.zero_();
      break;
    case Variation::kNotFinite:
      put_not_finite(flat);
      break;
    case Variation::kTies:
      put_ties(flat);
      break;
    default:
      break;
  }
}

}  // namespace

bool is_vector(const at::Tensor& tensor) {
  return std::all_of(tensor.sizes().begin(), tensor.sizes().end(),
                     [&](int64_t size) { return size == 1 || size == tensor.numel(); });
}

bool is_constant(const at::Tensor& tensor) {
  return tensor.numel() > 0 && tensor.eq(tensor.reshape({-1})[0]).all().item<bool>();
}

void vary(const std::vector<at::Tensor>& inputs, Variation variation, uint64_t seed) {
  seed_generators(seed);
  if (variation == Variation::kConstant) {
    for (const at::Tensor& input : floating_inputs(inputs)) {
      if (input.dim() > 0) input.copy_(input.narrow(-1, 0, 1).clone().expand_as(input));
    }
    return;
  }
  if (variation == Variation::kUneven || variation == Variation::kZeros ||
      variation == Variation::kOutliers) {
    const auto change = variation == Variation::kUneven  ? make_uneven
                        : variation == Variation::kZeros ? put_zeros
                                                         : put_outliers;
    for (const at::Tensor& input : floating_inputs(inputs)) change(input);
    return;
  }
  for (const at::Tensor& flat : whole_storages(inputs)) {
    if (flat.is_floating_point()) vary_storage(flat, variation, seed);
  }
}

void scale_storages(const std::vector<at::Tensor>& tensors, double factor) {
  for (at::Tensor& flat : whole_storages(tensors)) {
    if (flat.is_floating_point()) flat.mul_(factor);
  }
}

void move_by_about_a_unit(const std::vector<at::Tensor>& inputs, uint64_t seed) {
  seed_generators(seed);
  for (at::Tensor& flat : whole_storages(inputs)) {
    if (!flat.is_floating_point() || flat.numel() == 0) continue;
    const double eps = dtype_eps(dtype_of(flat.scalar_type()));
    const at::Tensor up = at::empty_like(flat, at::kBool).bernoulli_(0.5);
    const at::Tensor moved = at::where(up, flat * (1 + eps), flat * (1 - eps));
    const at::Tensor exact = flat.eq(flat.round());
    const at::Tensor flags = flat.eq(flat.min()).logical_or_(flat.eq(flat.max()));
    if (!flags.all().item<bool>()) flat.copy_(at::where(exact, flat, moved));
  }
}

void draw_constants(const std::vector<at::Tensor>& inputs, uint64_t seed) {
  seed_generators(seed);
  for (at::Tensor& flat : whole_storages(inputs)) {
    const bool mask = flat.scalar_type() == at::kBool;
    if ((!mask && !flat.is_floating_point()) || flat.numel() < 2 || !is_constant(flat)) continue;
    const at::Tensor drawn = at::rand(flat.sizes(), at::TensorOptions().dtype(at::kFloat));
    if (mask) {
      flat.copy_(drawn.lt(0.5));
    } else if (flat[0].item<double>() == 0) {
      flat.copy_(drawn);
    } else {
      flat.mul_(drawn.add_(0.5).to(flat.options()));
    }
  }
}

void put_numbers(const at::Tensor& tensor, const std::vector<double>& numbers) {
  if (!tensor.is_floating_point() || !tensor.is_non_overlapping_and_dense()) return;
  for (const double number : numbers) {
    const at::Tensor held = at::scalar_tensor(number, tensor.options());
    if (held.item<double>() != number) continue;
    tensor.masked_fill_(at::empty_like(tensor, at::kBool).bernoulli_(1.0 / kOneOf), held);
  }
}

void put_whole_rows(at::Tensor mask) {
  for (int64_t dim = mask.dim() - 1; mask.dim() > 1 && dim >= 0; --dim) {  // rows after columns
    const int64_t size = mask.size(dim), count = (size + kOneOf - 1) / kOneOf;
    if (size < 2 * count) continue;
    const at::Tensor order = at::randperm(size, at::kLong).to(mask.device());
    mask.index_fill_(dim, order.narrow(0, 0, count), true);
    mask.index_fill_(dim, order.narrow(0, count, count), false);
  }
}

}  // namespace kw::exec
