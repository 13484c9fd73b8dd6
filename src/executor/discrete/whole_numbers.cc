#include "executor/discrete/whole_numbers.h"

#include <algorithm>

namespace kw::exec {
namespace {

constexpr double kShare = 0.25;  // of the elements that are replaced

at::TensorOptions whole() { return at::TensorOptions().dtype(at::kLong); }

at::Tensor draw(int64_t low, int64_t high, int64_t count) {
  return at::randint(low, high, {count}, whole());
}

// Puts `number` at some places, at one at least.
void put(const at::Tensor& flat, int64_t number) {
  const auto count = static_cast<int64_t>(kShare * static_cast<double>(flat.numel())) + 1;
  flat.index_fill_(0, draw(0, flat.numel(), count), number);
}

int64_t number_of(const AtenCall& call, std::string_view name, int64_t otherwise) {
  const Arg* arg = call.find(name);
  const auto* number = arg ? std::get_if<int64_t>(&arg->v) : nullptr;
  return number ? *number : otherwise;
}

void put_ends(const at::Tensor& flat, const AtenCall& randint) {
  const int64_t low = number_of(randint, "low", 0), high = number_of(randint, "high", low + 1);
  put(flat, high - 1);
  put(flat, low);
}

void put_named(const at::Tensor& flat, const std::vector<int64_t>& named, Reach reach) {
  if (named.empty()) return;
  if (reach == Reach::kBold) {
    for (const int64_t number : named) put(flat, number);
  } else {
    put(flat, named[draw(0, static_cast<int64_t>(named.size()), 1).item<int64_t>()]);
  }
}

void shuffle(const at::Tensor& flat, Reach reach) {
  const int64_t count = flat.numel();
  at::Tensor order = at::randperm(count, whole());
  if (reach == Reach::kBold) {
    const auto twice = static_cast<int64_t>(kShare * static_cast<double>(count)) + 1;
    order.index_copy_(0, draw(0, count, twice), draw(0, count, twice));
  }
  flat.copy_(flat.index_select(0, order));
}

// Draws the numbers between the first and the last anew, in order. They may be offsets.
void put_between(const at::Tensor& flat, Reach reach) {
  const int64_t first = flat[0].item<int64_t>(), last = flat[-1].item<int64_t>();
  const int64_t inner = flat.numel() - 2;
  at::Tensor between = draw(first, last + 1, inner);
  if (reach == Reach::kCareful) {  // no number twice
    constexpr int64_t kMostDrawn = 1 << 20;
    const int64_t room = last - first - 1;
    if (room < inner || room > kMostDrawn) return;
    between = at::randperm(room, whole()).narrow(0, 0, inner).add_(first + 1);
  }
  flat.narrow(0, 1, inner).copy_(std::get<0>(between.sort()));
}

void put_others(const at::Tensor& flat, Reach reach) {
  if (flat.scalar_type() == at::kBool) {
    if (flat.numel() == 1) {
      flat.logical_not_();
    } else {
      flat.copy_(draw(0, 2, flat.numel()));
    }
    return;
  }
  const bool in_order = flat.numel() > 2 && flat.diff().ge(0).all().item<bool>();
  if (in_order && flat[0].item<int64_t>() < flat[-1].item<int64_t>())
    return put_between(flat, reach);
  const int64_t number = flat.max().item<int64_t>();
  if (flat.min().item<int64_t>() < 0 || (number == 0 && reach == Reach::kCareful)) return;
  const int64_t low = std::min<int64_t>(reach == Reach::kBold ? 0 : 1, number);
  flat.copy_(draw(low, std::max<int64_t>(number, 1) + 1, flat.numel()));
  // A single number must be another one.
  if (flat.eq(number).all().item<bool>()) flat[0] = number > low ? number - 1 : number + 1;
}

}  // namespace

void change_source(const at::Tensor& numbers, const Source& source, SourceChange change,
                   const std::vector<int64_t>& named, Reach reach) {
  if (numbers.numel() == 0) return;
  at::Tensor flat = numbers.reshape({-1}).to(at::kCPU).clone();
  switch (change) {
    case SourceChange::kEnds:
      put_ends(flat, source.maker);
      break;
    case SourceChange::kNamed:
      put_named(flat, named, reach);
      break;
    case SourceChange::kShuffle:
      shuffle(flat, reach);
      break;
    case SourceChange::kOther:
      put_others(flat, reach);
      break;
  }
  numbers.copy_(flat.reshape(numbers.sizes()));
}

}  // namespace kw::exec
