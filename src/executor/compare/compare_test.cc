#include "executor/compare/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#ifdef KW_WITH_CUDA
#include "executor/compare/cuda_compare.h"
#endif

namespace kw::exec {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns the device on which compare() is fused, if there is one.
at::Device device() { return at::globalContext().hasCUDA() ? at::kCUDA : at::kCPU; }

// Computes the definitions of compare.h element by element.
Comparison naive(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& oracle) {
  const auto flat = [](const at::Tensor& t) { return t.to(at::kDouble).contiguous().view(-1); };
  const at::Tensor gs = flat(got), es = flat(expected), os = flat(oracle);
  Comparison out;
  out.different = bits(got.contiguous()).ne(bits(expected.contiguous())).sum().item<int64_t>();
  const int64_t step = got.dim() == 1 ? vector_step(got.numel()) : 1;
  for (int64_t size : got.sizes())
    out.sections.push_back(at::zeros({4, (size + step - 1) / step}, at::kDouble));
  for (int64_t i = 0; i < gs.numel(); ++i) {
    const double g = gs.data_ptr<double>()[i], e = es.data_ptr<double>()[i];
    const double o = os.data_ptr<double>()[i];
    const bool g_ok = std::isfinite(g), e_ok = std::isfinite(e), o_ok = std::isfinite(o);
    if (o_ok) ++out.oracles, out.oracle_sum += o * o;
    if (o_ok) out.oracle_max = std::max(out.oracle_max, std::abs(o));
    if (o_ok && g_ok) ++out.both, out.error_sum += (g - o) * (g - o);
    if (o_ok && g_ok) out.error_max = std::max(out.error_max, std::abs(g - o));
    out.sound += (o_ok && g_ok) || g == o;
    const bool same = std::isnan(g) ? std::isnan(e) : !std::isnan(e) && ((g_ok && e_ok) || g == e);
    out.nonfinite += !same;
    if (g_ok && e_ok) {
      out.allclose_worst =
          std::max(out.allclose_worst, std::abs(g - e) / (1e-2 + 1e-2 * std::abs(e)));
    }
    if (!g_ok || !e_ok || !o_ok) continue;
    int64_t rest = i;
    for (int64_t d = got.dim() - 1; d >= 0; --d) {
      auto sums = out.sections[d].accessor<double, 2>();
      const int64_t at = rest % got.size(d) / step;
      rest /= got.size(d);
      sums[0][at] += (g - o) * (g - o);
      sums[1][at] += (e - o) * (e - o);
      sums[2][at] += o * o;
      sums[3][at] += 1;
    }
  }
  return out;
}

void expect_near(double a, double b) { EXPECT_NEAR(a, b, 1e-12 * std::abs(b)); }

void expect_same(const Comparison& a, const Comparison& b) {
  expect_near(a.error_sum, b.error_sum);
  EXPECT_EQ(a.error_max, b.error_max);
  expect_near(a.oracle_sum, b.oracle_sum);
  EXPECT_EQ(a.oracle_max, b.oracle_max);
  EXPECT_EQ(a.both, b.both);
  EXPECT_EQ(a.oracles, b.oracles);
  EXPECT_EQ(a.sound, b.sound);
  EXPECT_EQ(a.different, b.different);
  EXPECT_EQ(a.nonfinite, b.nonfinite);
  expect_near(a.allclose_worst, b.allclose_worst);
}

void expect_same_sections(const Comparison& a, const Comparison& b) {
  ASSERT_EQ(a.sections.size(), b.sections.size());
  for (size_t d = 0; d < a.sections.size(); ++d) {
    EXPECT_TRUE(at::allclose(a.sections[d], b.sections[d], 1e-11, 0)) << "dimension " << d;
  }
}

TEST(Compare, SumsFollowTheirDefinitions) {
  at::manual_seed(1);
  for (at::ScalarType dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{1},
                                                                               {7},
                                                                               {5000},
                                                                               {70003},
                                                                               {3, 5},
                                                                               {1, 70},
                                                                               {70, 1},
                                                                               {4, 33, 17},
                                                                               {2, 3, 8, 40},
                                                                               {300, 3, 2},
                                                                               {33, 1100},
                                                                               {700, 2}}) {
      const at::Tensor oracle = at::randn(sizes, at::kDouble) * 100;
      const at::Tensor expected = oracle.to(dtype);
      at::Tensor got = (oracle + at::randn(sizes, at::kDouble) * 0.1).to(dtype);
      for (bool wild : {false, true}) {
        if (wild && got.numel() > 6) {
          at::Tensor o = oracle.view(-1), e = expected.view(-1), g = got.view(-1);
          g[0] = kNan, e[1] = kNan, o[2] = kInf, g[2] = kInf, e[2] = kInf;
          g[3] = -kInf, e[3] = kInf, o[4] = kNan, e[5] = -0.0, g[5] = 0.0;
        }
        const Comparison sums = naive(got, expected, oracle);
        const Comparison found = compare(got, expected, oracle, device(), true);
        SCOPED_TRACE(c10::str(dtype, " ", sizes, wild ? " with NaN" : ""));
        expect_same(found, sums);
        expect_same_sections(found, sums);
        expect_same(compare(got, expected, expected, device(), false),
                    naive(got, expected, expected));
      }
    }
  }
}

TEST(Compare, LayoutsDoNotMatter) {
  at::manual_seed(2);
  const at::Tensor oracle = at::randn({40, 30, 20}, at::kDouble);
  const at::Tensor expected = oracle.to(at::kFloat);
  const at::Tensor got = (expected + 1e-3).permute({2, 0, 1}).contiguous().permute({1, 2, 0});
  const Comparison sums = naive(got, expected, oracle);
  const Comparison found = compare(got, expected, oracle, device(), true);
  expect_same(found, sums);
  expect_same_sections(found, sums);
}

TEST(Compare, IntegersAndNothing) {
  const at::Tensor a = at::arange(1000, at::kLong), b = a.clone();
  b[3] = 5;
  EXPECT_EQ(compare(a, b, b, device(), false).different, 1);
  const at::Tensor none = at::zeros({0, 3});
  EXPECT_EQ(compare(none, none, none, device(), true).different, 0);
  EXPECT_EQ(compare(none, none, none, device(), true).both, 0);
}

#ifdef KW_WITH_CUDA
TEST(Compare, IsOneKernelOnADevice) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  for (at::ScalarType dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor a = at::randn({8, 100}).to(dtype);
    EXPECT_TRUE(compare_on_cuda(a, a, a.to(at::kDouble), true).has_value()) << dtype;
    EXPECT_TRUE(compare_on_cuda(a, a, a, false).has_value()) << dtype;
  }
}
#endif

TEST(Compare, EqualBitsNeedNoSections) {
  const at::Tensor a = at::randn({20, 30});
  EXPECT_TRUE(compare(a, a.clone(), a.to(at::kDouble), device(), true).sections.empty());
}

TEST(Compare, LargeTensorsAreSummedWhole) {
  at::manual_seed(3);
  const at::Tensor oracle = at::randn({3000, 2000}, at::kDouble);
  const at::Tensor expected = oracle.to(at::kFloat), got = (oracle * 1.0001).to(at::kFloat);
  const Comparison parts = compare_in_parts(got, expected, oracle, at::kCPU, true);
  const Comparison found = compare(got, expected, oracle, device(), true);
  expect_same(found, parts);
  expect_same_sections(found, parts);
  EXPECT_NEAR(std::sqrt(found.error_sum / found.oracle_sum), 1e-4, 1e-6);
}

}  // namespace
}  // namespace kw::exec
