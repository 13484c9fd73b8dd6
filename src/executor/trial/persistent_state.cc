#include "executor/trial/persistent_state.h"

#include <limits>
#include <set>

namespace kw::exec {
namespace {

// Returns the whole storage of a tensor as one row of `type`.
at::Tensor storage_as(const at::Tensor& tensor, at::ScalarType type) {
  const int64_t size = static_cast<int64_t>(c10::elementSize(type));
  const int64_t count = static_cast<int64_t>(tensor.storage().nbytes()) / size;
  at::Tensor out = at::empty({0}, tensor.options().dtype(type));
  return out.set_(tensor.storage(), 0, {count}, {1});
}

at::ScalarType integer_of_size(size_t bytes) {
  return bytes == 1 ? at::kByte : bytes == 2 ? at::kShort : bytes == 4 ? at::kInt : at::kLong;
}

bool is_unsigned(at::ScalarType type) { return type == at::kByte || type == at::kBool; }

// Returns the largest power of ten to draw, which the dtype holds and which is at most 9.
double largest_exponent(at::ScalarType type) {
  switch (type) {
    case at::kByte:
    case at::kChar:
      return 2;
    case at::kShort:
    case at::kHalf:
      return 4;
    default:
      return 9;
  }
}

at::Tensor any_bits(const at::Tensor& like) {
  at::Tensor out = at::empty_like(like);
  if (like.scalar_type() == at::kBool) return out.random_(0, 2);
  storage_as(out, at::kByte).random_(0, 256);
  return out;
}

at::Tensor drawn_like(const at::Tensor& like, Scramble how) {
  const at::ScalarType type = like.scalar_type();
  if (how == Scramble::kBits || type == at::kBool) return any_bits(like);
  at::Tensor numbers = at::rand(like.sizes(), like.options().dtype(at::kFloat));
  if (how == Scramble::kSmall) {
    numbers = numbers.mul_(17).floor_();
  } else {
    numbers = at::pow(10.0, numbers.mul_(0.6).add_(0.4).mul_(largest_exponent(type)));
    if (how == Scramble::kNegative) {
      numbers = is_unsigned(type) ? numbers.neg_().add_(255) : numbers.neg_();
    }
  }
  return numbers.to(type);
}

}  // namespace

void PersistentState::scramble(const std::vector<at::Tensor>& before,
                               const std::vector<at::Tensor>& after) {
  changed_.resize(after.size());
  std::set<const void*> seen;
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i].storage().nbytes() == 0) continue;
    if (!seen.insert(after[i].storage().unsafeGetStorageImpl()).second) continue;
    const at::ScalarType integers = integer_of_size(after[i].element_size());
    const at::Tensor differs = storage_as(after[i], integers).ne(storage_as(before[i], integers));
    changed_[i] = changed_[i].defined() ? changed_[i].logical_or(differs) : differs;
    if (!changed_[i].any().item<bool>()) continue;
    at::Tensor flat = storage_as(after[i], after[i].scalar_type());
    flat.copy_(at::where(changed_[i], drawn_like(flat, how_), flat));
  }
}

}  // namespace kw::exec
