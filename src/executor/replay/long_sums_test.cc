// Runs of a reference whose long sums err as one accumulator does.
#include <gtest/gtest.h>

#include "executor/device/test_backend.h"
#include "executor/replay/replay.h"

namespace kw::exec {
namespace {

class LongSums : public testing::Test {
 protected:
  std::vector<at::Tensor> run(const Program& program, std::vector<at::Tensor> inputs,
                              const ReplayOptions& options = {}) {
    set_ = backend_.load(kernels_);
    Replay replay(program, kernels_, set_.get(), at::kCPU);
    return replay.run(std::move(inputs), options);
  }
  c10::InferenceMode inference_;
  FakeBackend backend_;
  const std::vector<Kernel> kernels_;
  std::unique_ptr<KernelSet> set_;
};

Program product_of(int64_t terms, const char* dtype) {
  return make_program({value_json(dtype, {64, terms}, 0), value_json(dtype, {terms, 48}, 1),
                       value_json(dtype, {64, 48}, 2)},
                      {0, 1}, {step_json("aten.mm.default", {{"self", v(0)}, {"mat2", v(1)}}, {2})},
                      {2});
}

// The errors have the size of those of one fp32 accumulator, in rows of any scale.
TEST_F(LongSums, LongProductsErrAsOneAccumulatorDoes) {
  constexpr int64_t kTerms = 4096;
  const at::Tensor a = at::randn({64, kTerms}), b = at::randn({kTerms, 48});
  a.narrow(0, 0, 32).mul_(1e-3);
  at::Tensor one_by_one = at::zeros({64, 48});
  for (int64_t k = 0; k < kTerms; ++k) {
    one_by_one.addcmul_(a.narrow(1, k, 1).expand({64, 48}), b.narrow(0, k, 1).expand({64, 48}));
  }
  const at::Tensor exact = a.to(at::kDouble).mm(b.to(at::kDouble));
  const auto rms = [&](const at::Tensor& got, int64_t row) {
    const at::Tensor off = (got.to(at::kDouble) - exact).narrow(0, row, 32);
    return (off.norm() / exact.narrow(0, row, 32).norm()).item<double>();
  };
  const at::Tensor emulated =
      run(product_of(kTerms, "float32"), {a, b}, ReplayOptions::as_kernels())[0];
  for (int64_t row : {0, 32}) {
    EXPECT_LT(rms(emulated, row), 1.5 * rms(one_by_one, row));
    EXPECT_GT(rms(emulated, row), 0.5 * rms(one_by_one, row));
  }
}

TEST_F(LongSums, OtherProductsAreAsPyTorchComputesThem) {
  for (const auto& [terms, dtype] : {std::pair{512, "float32"}, std::pair{4096, "float64"}}) {
    const at::ScalarType type = dtype == std::string("float64") ? at::kDouble : at::kFloat;
    const at::Tensor a = at::randn({64, terms}, type), b = at::randn({terms, 48}, type);
    EXPECT_TRUE(
        at::equal(run(product_of(terms, dtype), {a, b}, ReplayOptions::as_kernels())[0], a.mm(b)));
  }
}

Program reduction_of(const char* op, int64_t terms, bool scan) {
  const std::vector<int64_t> result =
      scan ? std::vector<int64_t>{64, terms} : std::vector<int64_t>{64};
  const Json dim = scan ? Json(1) : Json::array({1});
  return make_program({value_json("float32", {64, terms}, 0), value_json("float32", result, 1)},
                      {0}, {step_json(op, {{"self", v(0)}, {"dim", dim}}, {1})}, {1});
}

// The errors have the size of those of one fp32 accumulator, whether terms cancel or not.
TEST_F(LongSums, LongReductionsInDoubtErrAsOneAccumulatorDoes) {
  constexpr int64_t kTerms = 4096;
  for (const bool of_one_sign : {false, true}) {
    const at::Tensor x = of_one_sign ? at::rand({64, kTerms}) : at::randn({64, kTerms});
    at::Tensor sums = at::zeros({64});
    std::vector<at::Tensor> prefixes;
    for (int64_t k = 0; k < kTerms; ++k) {
      sums = sums + x.select(1, k);
      prefixes.push_back(sums);
    }
    const at::Tensor wide = x.to(at::kDouble);
    struct Case {
      const char* op;
      bool scan;
      at::Tensor one_by_one, exact;
    };
    const std::vector<Case> cases = {
        {"aten.sum.dim_IntList", false, sums, wide.sum(1)},
        {"aten.mean.dim", false, sums / kTerms, wide.mean(1)},
        {"aten.cumsum.default", true, at::stack(prefixes, 1), wide.cumsum(1)}};
    for (const Case& each : cases) {
      const auto rms = [&](const at::Tensor& got) {
        return ((got.to(at::kDouble) - each.exact).norm() / each.exact.norm()).item<double>();
      };
      const Program program = reduction_of(each.op, kTerms, each.scan);
      const double emulated = rms(run(program, {x}, ReplayOptions::perturbed(1, false))[0]);
      EXPECT_LT(emulated, 2 * rms(each.one_by_one)) << each.op << of_one_sign;
      EXPECT_GT(emulated, 0.4 * rms(each.one_by_one)) << each.op << of_one_sign;
      EXPECT_TRUE(run(program, {x}, ReplayOptions::as_kernels())[0].equal(run(program, {x})[0]));
    }
  }
}

// Equal numbers lose the same in each addition.
TEST_F(LongSums, EqualNumbersErrMore) {
  constexpr int64_t kTerms = 4096;
  const at::Tensor x = at::rand({64, 1}).expand({64, kTerms}).contiguous();
  at::Tensor sums = at::zeros({64});
  for (int64_t k = 0; k < kTerms; ++k) sums = sums + x.select(1, k);
  const at::Tensor exact = x.to(at::kDouble).sum(1);
  const auto rms = [&](const at::Tensor& got) {
    return ((got.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
  };
  const Program program = reduction_of("aten.sum.dim_IntList", kTerms, false);
  const double emulated = rms(run(program, {x}, ReplayOptions::perturbed(1, false))[0]);
  EXPECT_GT(emulated, rms(sums) / 2);
  EXPECT_LT(emulated, 8 * rms(sums));
}

TEST_F(LongSums, SumsOfFewTermsOrTooManyErrAsPyTorchDoes) {
  for (const int64_t terms : {512, 1 << 17}) {
    const at::Tensor x = at::rand({64, terms});
    const Program program = reduction_of("aten.sum.dim_IntList", terms, false);
    EXPECT_TRUE(run(program, {x}, ReplayOptions::perturbed(1, false))[0].equal(x.sum(1))) << terms;
  }
}

}  // namespace
}  // namespace kw::exec
