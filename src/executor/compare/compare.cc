#include "executor/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#ifdef KW_WITH_CUDA
#include "executor/compare/cuda_compare.h"
#endif

namespace kw::exec {
namespace {

constexpr int64_t kPart = int64_t{1} << 22;  // elements in float64 at a time

// Returns where one element is NaN or infinite and the other is not the same.
at::Tensor nonfinite_differs(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor nan_differs = a.isnan().ne(b.isnan());
  const at::Tensor infinite = a.isinf().logical_or(b.isinf());
  return nan_differs.logical_or(infinite.logical_and(a.ne(b)));
}

// Adds one flat part of all three tensors.
void add_part(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& oracle,
              Comparison& out) {
  const at::Tensor g = got.to(at::kDouble), e = expected.to(at::kDouble),
                   o = oracle.to(at::kDouble);
  const at::Tensor oracle_ok = o.isfinite();
  const at::Tensor ok = oracle_ok.logical_and(g.isfinite());
  const at::Tensor error = zero_where_not(ok, g - o), scale = zero_where_not(oracle_ok, o);
  const at::Tensor close = (g - e).abs() / (e.abs() * 1e-2 + 1e-2);
  const at::Tensor both_finite = g.isfinite().logical_and(e.isfinite());
  const auto count = [](const at::Tensor& which) { return which.sum().to(at::kDouble); };
  const at::Tensor sums =
      at::stack({error.square().sum(), error.abs().max(), scale.square().sum(), scale.abs().max(),
                 count(ok), count(oracle_ok), count(ok.logical_or(g.eq(o))),
                 count(bits(got).ne(bits(expected))), count(nonfinite_differs(g, e)),
                 zero_where_not(both_finite, close).max()})
          .cpu();
  const double* s = sums.const_data_ptr<double>();
  out.error_sum += s[0];
  out.error_max = std::max(out.error_max, s[1]);
  out.oracle_sum += s[2];
  out.oracle_max = std::max(out.oracle_max, s[3]);
  out.both += static_cast<int64_t>(s[4]);
  out.oracles += static_cast<int64_t>(s[5]);
  out.sound += static_cast<int64_t>(s[6]);
  out.different += static_cast<int64_t>(s[7]);
  out.nonfinite += static_cast<int64_t>(s[8]);
  out.allclose_worst = std::max(out.allclose_worst, s[9]);
}

// Sums over each cross-section along each dimension.
class SectionSums {
 public:
  explicit SectionSums(at::IntArrayRef sizes) {
    for (int64_t size : sizes) by_dim_.push_back(at::zeros({4, size}, at::kDouble));
  }
  // Adds a part that starts at `begin` in dimension 0.
  void add(const at::Tensor& g, const at::Tensor& e, const at::Tensor& o, int64_t begin) {
    const at::Tensor ok = o.isfinite().logical_and(e.isfinite()).logical_and(g.isfinite());
    const std::vector<at::Tensor> squares = {zero_where_not(ok, (g - o).square()),
                                             zero_where_not(ok, (e - o).square()),
                                             zero_where_not(ok, o.square()), ok.to(at::kDouble)};
    for (int64_t dim = 0; dim < o.dim(); ++dim) {
      std::vector<int64_t> others;
      for (int64_t d = 0; d < o.dim(); ++d) {
        if (d != dim) others.push_back(d);
      }
      for (int64_t row = 0; row < 4; ++row) {
        const at::Tensor sums = others.empty() ? squares[row] : squares[row].sum(others);
        at::Tensor all = by_dim_[dim].select(0, row);
        (dim == 0 ? all.narrow(0, begin, sums.size(0)) : all).add_(sums.cpu());
      }
    }
  }
  std::vector<at::Tensor> take() { return std::move(by_dim_); }

 private:
  std::vector<at::Tensor> by_dim_;
};

// Returns a vector as a matrix of stretches. It is padded with NaN, which is never counted.
at::Tensor in_stretches(const at::Tensor& vector) {
  const int64_t step = vector_step(vector.numel());
  const int64_t stretches = (vector.numel() + step - 1) / step;
  const at::Tensor padded = at::constant_pad_nd(vector, {0, stretches * step - vector.numel()},
                                                std::numeric_limits<double>::quiet_NaN());
  return padded.view({stretches, step});
}

std::vector<at::Tensor> sections_in_parts(const at::Tensor& got, const at::Tensor& expected,
                                          const at::Tensor& oracle, at::Device device) {
  if (got.dim() == 1) {
    std::vector<at::Tensor> both =
        sections_in_parts(in_stretches(got), in_stretches(expected), in_stretches(oracle), device);
    both.resize(1);
    return both;
  }
  const int64_t rows = got.size(0), row = got.numel() / rows;
  const int64_t step = std::max<int64_t>(1, kPart / std::max<int64_t>(1, row));
  SectionSums sums(got.sizes());
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t length = std::min(step, rows - begin);
    const auto part = [&](const at::Tensor& tensor) {
      return tensor.narrow(0, begin, length).to(device).to(at::kDouble);
    };
    sums.add(part(got), part(expected), part(oracle), begin);
  }
  return sums.take();
}

}  // namespace

at::Tensor zero_where_not(const at::Tensor& keep, const at::Tensor& values) {
  return at::where(keep, values, at::zeros({}, values.options()));
}

at::Tensor bits(const at::Tensor& tensor) {
  switch (tensor.element_size()) {
    case 1:
      return tensor.view(at::kByte);
    case 2:
      return tensor.view(at::kShort);
    case 4:
      return tensor.view(at::kInt);
    default:
      return tensor.view(at::kLong);
  }
}

int64_t vector_step(int64_t size) {
  constexpr int64_t kLeast = 16, kMostStretches = 4096;
  return std::max(kLeast, (size + kMostStretches - 1) / kMostStretches);
}

Comparison compare_in_parts(const at::Tensor& got, const at::Tensor& expected,
                            const at::Tensor& oracle, at::Device device, bool sections) {
  Comparison out;
  const at::Tensor g = got.reshape({-1}), e = expected.reshape({-1}), o = oracle.reshape({-1});
  for (int64_t begin = 0; begin < g.numel(); begin += kPart) {
    const int64_t end = std::min(g.numel(), begin + kPart);
    const auto part = [&](const at::Tensor& flat) { return flat.slice(0, begin, end).to(device); };
    add_part(part(g), part(e), part(o), out);
  }
  if (sections && out.different > 0 && got.dim() > 0) {
    out.sections = sections_in_parts(got, expected, oracle, device);
  }
  return out;
}

Comparison compare(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& oracle,
                   at::Device device, bool sections) {
#ifdef KW_WITH_CUDA
  if (device.is_cuda()) {
    if (auto out = compare_on_cuda(got, expected, oracle, sections)) return std::move(*out);
  }
#endif
  return compare_in_parts(got, expected, oracle, device, sections);
}

}  // namespace kw::exec
