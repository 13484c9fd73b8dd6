#include "executor/compare/cross_sections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "executor/aten/guarded_memory.h"
#include "executor/compare/compare.h"

namespace kw::exec {
namespace {

constexpr double kFewestInSection = 16;  // elements of a cross-section that says something
// So many elements alone show whether something is left out, or taken from elsewhere.
constexpr double kFewestAlone = 4, kLeftOut = 0.25;

double smallest_normal(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::min();
    case at::kHalf:
      return 6.2e-5;
    default:  // bfloat16 has float's range
      return std::numeric_limits<float>::min();
  }
}

// Sums over one cross-section, or over several adjacent ones.
struct Sums {
  double candidate = 0, reference = 0, oracle = 0, count = 0;
  int64_t first = 0;
  void add(const Sums& other) {
    candidate += other.candidate, reference += other.reference;
    oracle += other.oracle, count += other.count;
    first = std::min(first, other.first);
  }
};

// Returns the sums of each cross-section along one dimension of Comparison::sections.
std::vector<Sums> sums_of(const at::Tensor& sums) {
  const at::Tensor plain = sums.contiguous();
  const auto rows = plain.accessor<double, 2>();
  std::vector<Sums> out;
  for (int64_t i = 0; i < sums.size(1); ++i) {
    out.push_back({rows[0][i], rows[1][i], rows[2][i], rows[3][i], i});
  }
  return out;
}

// Groups cross-sections of too few elements with those that follow. The last group takes as few
// cross-sections before it as needed, so that small elements still show in it.
std::vector<Sums> groups_of(const std::vector<Sums>& sections) {
  std::vector<Sums> out;
  for (const Sums& one : sections) {
    if (out.empty() || out.back().count >= kFewestInSection) {
      out.push_back(one);
    } else {
      out.back().add(one);
    }
  }
  for (int64_t i = out.empty() ? 0 : out.back().first;
       i-- > 0 && out.back().count < kFewestInSection;) {
    out.back().add(sections[static_cast<size_t>(i)]);
  }
  return out;
}

void find_worst(const at::Tensor& sums, int64_t dim, at::ScalarType dtype, SectionError& worst) {
  const auto visit = [&](const Sums& group, double floor) {
    if (std::sqrt(group.oracle / group.count) < smallest_normal(dtype)) return;
    const double error = std::sqrt(group.candidate / group.oracle);
    const double flushed = flushed_below(dtype_of(dtype)) / std::sqrt(group.oracle / group.count);
    const double allowed =
        std::max(kSectionFactor * std::sqrt(group.reference / group.oracle), floor) + flushed;
    if (error / allowed > worst.excess) worst = {error / allowed, dim, group.first, error, allowed};
  };
  const std::vector<Sums> sections = sums_of(sums);
  for (const Sums& group : groups_of(sections)) {
    if (group.count >= kFewestInSection) visit(group, std::sqrt(dtype_eps(dtype_of(dtype))));
  }
  for (const Sums& one : sections) {
    if (one.count >= kFewestAlone && one.count < kFewestInSection) visit(one, kLeftOut);
  }
}

// For each dimension sums over all others, [4, size]: squares of errors, of changes and of changed
// values, and the number of elements that changed.
class ChangeSums {
 public:
  explicit ChangeSums(at::IntArrayRef sizes) {
    for (int64_t size : sizes) by_dim_.push_back(at::zeros({4, size}, at::kDouble));
  }
  // Adds a part that starts at `begin` in dimension 0.
  void add(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& before,
           int64_t begin) {
    const at::Tensor change = expected - before;
    const at::Tensor moved = change.ne(0).logical_and(change.isfinite());
    const at::Tensor none = at::zeros({}, change.options());
    const auto squares = [&](const at::Tensor& x) { return at::where(moved, x.square(), none); };
    const at::Tensor all = at::stack(
        {squares(got - expected), squares(change), squares(expected), moved.to(at::kDouble)});
    for (int64_t dim = 0; dim < change.dim(); ++dim) {
      std::vector<int64_t> others;
      for (int64_t d = 0; d < change.dim(); ++d) {
        if (d != dim) others.push_back(d + 1);
      }
      const at::Tensor sums = others.empty() ? all : all.sum(others);
      at::Tensor& into = by_dim_[dim];
      (dim == 0 ? into.narrow(1, begin, sums.size(1)) : into).add_(sums.cpu());
    }
  }
  bool alike(double eps) const {
    constexpr double kOfChange = 0.1, kRoundings = 4;
    return std::all_of(by_dim_.begin(), by_dim_.end(), [&](const at::Tensor& sums) {
      const at::Tensor allowed = sums[1].sqrt() * kOfChange + sums[2].sqrt() * (kRoundings * eps);
      // The comparison is written so that NaN fails.
      return sums[0].sqrt().le(allowed).logical_or(sums[3].lt(kFewestInSection)).all().item<bool>();
    });
  }

 private:
  std::vector<at::Tensor> by_dim_;
};

}  // namespace

bool sections_updated_alike(const at::Tensor& got, const at::Tensor& expected,
                            const at::Tensor& before) {
  if (got.dim() < 2 || got.numel() == 0) return true;
  constexpr int64_t kPart = int64_t{1} << 22;
  const int64_t rows = got.size(0), step = std::max<int64_t>(1, kPart / (got.numel() / rows));
  ChangeSums sums(got.sizes());
  for (int64_t begin = 0; begin < rows; begin += step) {
    const auto part = [&](const at::Tensor& tensor) {
      return tensor.narrow(0, begin, std::min(step, rows - begin)).to(got.device()).to(at::kDouble);
    };
    sums.add(part(got), part(expected), part(before), begin);
  }
  return sums.alike(dtype_eps(dtype_of(expected.scalar_type())));
}

SectionError worst_section(const std::vector<at::Tensor>& sums, const at::Tensor& candidate) {
  SectionError worst;
  for (size_t dim = 0; dim < sums.size(); ++dim) {
    find_worst(sums[dim], static_cast<int64_t>(dim), candidate.scalar_type(), worst);
  }
  if (candidate.dim() == 1 && worst.dim == 0) worst.index *= vector_step(candidate.numel());
  return worst;
}

}  // namespace kw::exec
