// Every sampler draws uniformly: spaces small enough to list are listed here, by PyTorch's own
// formulas and without the code under test, and draws are compared by chi-square tests. All fixed
// seeds; Holm's correction at 1e-3 over all of them. With KW_TESTS=all a sampler with a bias of 5 %
// is shown to fail the same test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "ops/operator.h"
#include "synth/draw/drawn_program.h"

namespace kw {
namespace {

using Outcome = std::vector<int64_t>;

// The upper tail of chi-square, by Wilson and Hilferty's normal approximation ("The distribution of
// chi-square", 1931).
double tail(double chi_square, double freedom) {
  const double z =
      (std::cbrt(chi_square / freedom) - (1 - 2 / (9 * freedom))) / std::sqrt(2 / (9 * freedom));
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

struct Space {
  std::string name;
  std::set<Outcome> outcomes;
  std::function<Outcome()> draw;
  std::map<Outcome, double> flops = {};  // of candidates, before the window
  std::function<size_t()> parts = {};    // that assignments are divided into
  std::function<double(const Outcome&)> weight = [](const Outcome&) { return 1; };
};

// The probability of counts so uneven, or more so, were each outcome as likely as it weighs.
double evenness(const Space& space, const std::function<Outcome()>& draw, int draws) {
  std::map<Outcome, int> counts;
  for (int i = 0; i < draws; ++i) {
    const Outcome outcome = draw();
    if (!space.outcomes.contains(outcome)) {
      ADD_FAILURE() << "not in the space: " << testing::PrintToString(outcome);
      return 0;
    }
    ++counts[outcome];
  }
  double all = 0, chi_square = 0;
  for (const Outcome& outcome : space.outcomes) all += space.weight(outcome);
  for (const Outcome& outcome : space.outcomes) {
    const double expected = draws * space.weight(outcome) / all;
    const auto found = counts.find(outcome);
    const double count = found == counts.end() ? 0 : found->second;
    chi_square += (count - expected) * (count - expected) / expected;
  }
  return tail(chi_square, static_cast<double>(space.outcomes.size()) - 1);
}

// Holm: sorted, the k-th least of n has to be under alpha / (n - k) for its space to be uneven.
std::set<std::string> uneven(std::vector<std::pair<double, std::string>> found) {
  std::sort(found.begin(), found.end());
  std::set<std::string> names;
  for (size_t k = 0; k < found.size(); ++k) {
    if (found[k].first > 1e-3 / static_cast<double>(found.size() - k)) break;
    names.insert(found[k].second);
  }
  return names;
}

Word word_of(std::initializer_list<const char*> names) {
  Word word;
  for (const char* name : names) word.push_back(find_synth_operator(name));
  return word;
}

// The sizes of one skeleton of a word, the first that `fits`.
class Sampler {
 public:
  Sampler(std::initializer_list<const char*> names, const DimsLimits& limits,
          const std::function<bool(const Skeleton&)>& fits)
      : random_(11, 0) {
    const SkeletonSpace words(word_of(names));
    do skeleton_ = words.draw(random_);
    while (!fits(skeleton_));
    shaped_ = shape(skeleton_);
    EXPECT_EQ(shaped_.sizes.solved(), Solved::kYes);
    dims_.emplace(shaped_, limits);
    EXPECT_FALSE(dims_->empty());
  }

  // Shapes of the new tensors, one after the other.
  Outcome draw() {
    const std::optional<DimsSpace::Draw> drawn = dims_->draw(random_);
    if (!drawn) return {};
    Outcome sizes;
    for (size_t i = 0; i < drawn->shapes.size(); ++i) {
      if (shaped_.fresh_of[i] < 0) continue;
      sizes.insert(sizes.end(), drawn->shapes[i].begin(), drawn->shapes[i].end());
    }
    return sizes;
  }
  double low_flops() const { return dims_->low_flops(); }
  size_t parts() const { return dims_->parts(); }

 private:
  Random random_;
  Skeleton skeleton_;
  ShapedSkeleton shaped_;
  std::optional<DimsSpace> dims_;
};

// Keeps what is in the window, whose low end depends on what can be reached.
void apply_window(Space& space, const Sampler& sampler, double low, double high) {
  double most = 0;
  for (const auto& [outcome, flops] : space.flops) most = std::max(most, flops);
  EXPECT_LE(sampler.low_flops(), std::min(low, most / 4)) << space.name;
  EXPECT_GE(sampler.low_flops(), 0.98 * std::min(low, most / 4)) << space.name;
  for (const auto& [outcome, flops] : space.flops) {
    if (flops >= sampler.low_flops() && flops <= high) space.outcomes.insert(outcome);
  }
}

// Whether assignments are divided further after each try, from the first on; else not at all.
bool divides = false;

DimsLimits small_limits(double tensor, double total, double low, double high) {
  constexpr int64_t kTries = 10'000'000;
  return {.tensor = tensor,
          .total = total,
          .low_flops = low,
          .high_flops = high,
          .tries = kTries,
          .tries_for_all = divides ? 0 : kTries,
          .tries_for_part = 1};
}

Space matrix_of(const char* name, bool by_log) {  // relu: its FLOPs are its elements
  DimsLimits limits = small_limits(40, 1000, 20, 1000);
  limits.log_measure = by_log;
  auto sampler =
      std::make_shared<Sampler>(std::initializer_list<const char*>{"ReLU"}, limits,
                                [](const Skeleton& s) { return s[0].operands[0].rank == 2; });
  Space space{name, {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t a = 1; a <= 40; ++a) {
    for (int64_t b = 1; a * b <= 40; ++b) {
      space.flops[{a, b}] = static_cast<double>(a * b);
    }
  }
  if (by_log) {
    space.weight = [](const Outcome& s) { return 1.0 / static_cast<double>(s[0] * s[1]); };
  }
  apply_window(space, *sampler, 20, 1000);
  return space;
}
Space matrix() { return matrix_of("matrix", false); }
Space matrix_by_log() { return matrix_of("matrix, by log", true); }

Space product_of(const char* name, bool by_log) {  // (M, K) by (K, N)
  DimsLimits limits = small_limits(30, 70, 40, 160);
  limits.log_measure = by_log;
  auto sampler =
      std::make_shared<Sampler>(std::initializer_list<const char*>{"Matmul"}, limits,
                                [](const Skeleton& s) { return s[0].operands[0].rank == 2; });
  Space space{name, {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  if (by_log) {
    space.weight = [](const Outcome& s) { return 1.0 / static_cast<double>(s[0] * s[1] * s[3]); };
  }
  for (int64_t m = 1; m <= 30; ++m) {
    for (int64_t k = 1; k <= 30; ++k) {
      for (int64_t n = 1; n <= 30; ++n) {
        if (m * k > 30 || k * n > 30 || m * n > 30 || m * k + k * n + m * n > 70) continue;
        space.flops[{m, k, k, n}] = static_cast<double>(2 * m * n * k);
      }
    }
  }
  apply_window(space, *sampler, 40, 160);
  return space;
}
Space product() { return product_of("product", false); }
Space product_by_log() { return product_of("product, by log", true); }

Space convolution() {  // kernel 3, stride 2, padding 1: sizes of the input that give the same
                       // output
  auto sampler = std::make_shared<Sampler>(std::initializer_list<const char*>{"Conv1d"},
                                           small_limits(24, 60, 30, 120), [](const Skeleton& s) {
                                             const Parameters& p = *s[0].parameters;
                                             return p.kernel == 3 && p.stride == 2 &&
                                                    p.padding == 1 && p.dilation == 1 &&
                                                    p.groups == 1 && !p.affine;
                                           });
  Space space{"convolution", {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t n = 1; n <= 24; ++n) {
    for (int64_t c = 1; n * c <= 24; ++c) {
      for (int64_t l = 1; n * c * l <= 24; ++l) {
        for (int64_t o = 1; o * c * 3 <= 24; ++o) {
          const int64_t out = (l + 2 * 1 - 2 - 1) / 2 + 1;
          if (l + 2 < 3 || out < 1 || n * o * out > 24) continue;
          if (n * c * l + o * c * 3 + n * o * out > 60) continue;
          space.flops[{n, c, l, o, c, 3}] = static_cast<double>(2 * n * o * out * c * 3);
        }
      }
    }
  }
  apply_window(space, *sampler, 30, 120);
  return space;
}

Space pool() {  // kernel 2, stride 3: a remainder that no window reads, then a softmax over two or
                // more
  auto sampler =
      std::make_shared<Sampler>(std::initializer_list<const char*>{"MaxPool1d", "Softmax"},
                                small_limits(60, 200, 1, 1e6), [](const Skeleton& s) {
                                  const Parameters& p = *s[0].parameters;
                                  return p.kernel == 2 && p.stride == 3 && p.padding == 0 &&
                                         p.dilation == 1 && s[1].parameters->dim == 2;
                                });
  Space space{"pool", {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t n = 1; n <= 60; ++n) {
    for (int64_t c = 1; n * c <= 60; ++c) {
      for (int64_t l = 2; n * c * l <= 60; ++l) {
        if ((l - 2) / 3 + 1 >= 2) space.outcomes.insert({n, c, l});
      }
    }
  }
  return space;
}

Space joined() {  // two matrices side by side, with their rows divided into two groups
  auto sampler =
      std::make_shared<Sampler>(std::initializer_list<const char*>{"Cat", "GroupNorm"},
                                small_limits(40, 160, 1, 1e6), [](const Skeleton& s) {
                                  return s[0].operands[0].rank == 2 && s[0].parameters->dim == 0 &&
                                         s[1].parameters->groups == 2 && !s[1].parameters->affine;
                                });
  Space space{"joined", {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t a = 1; a <= 40; ++a) {
    for (int64_t b = 1; b <= 40; ++b) {
      for (int64_t c = 4; (a + b) * c <= 40; ++c) {
        // GroupNorm's channels are dim 1, which has two elements a group at least.
        if (c % 2 == 0) space.outcomes.insert({a, c, b, c});
      }
    }
  }
  return space;
}

Space added() {  // a sum of a matrix's rows, added to a tensor of three dims where dim 0 broadcasts
  auto sampler = std::make_shared<Sampler>(
      std::initializer_list<const char*>{"Sum", "Add"}, small_limits(30, 100, 5, 1e6),
      [](const Skeleton& s) {
        return s[0].operands[0].rank == 2 && s[0].parameters->dim == 0 &&
               s[0].parameters->keepdim && s[1].operands[0].step == 0 &&
               s[1].operands[1].rank == 3 && s[1].operands[1].mask == 0b011;
      });
  Space space{"added", {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t a = 1; a <= 30; ++a) {
    for (int64_t b = 2; a * b <= 30; ++b) {
      for (int64_t c = 2; c * b <= 30; ++c) {  // beside the row, which keeps a dim of one
        if (a * b + b + c * b + c * b > 100) continue;
        if (a * b + b * c >= 5) space.outcomes.insert({a, b, 1, c, b});
      }
    }
  }
  return space;
}

// A matrix, what GELU costs on it, and its product with another.
Space two_costs() {
  const DimsLimits limits = small_limits(24, 100, 60, 240);
  auto sampler = std::make_shared<Sampler>(
      std::initializer_list<const char*>{"GELU", "Matmul"}, limits, [](const Skeleton& s) {
        return s[0].operands[0].rank == 2 && s[1].operands[0].step == 0 &&
               s[1].operands[1].step < 0 && s[1].operands[1].rank == 2;
      });
  const double each = find_operator("aten.gelu.default")->flops;
  Space space{"two costs", {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t m = 1; m <= 30; ++m) {
    for (int64_t k = 1; k <= 30; ++k) {
      for (int64_t n = 1; n <= 30; ++n) {
        if (m * k > 24 || k * n > 24 || m * n > 24) continue;
        if (2 * m * k + k * n + m * n > 100) continue;
        space.flops[{m, k, k, n}] =
            static_cast<double>(m * k) * each + static_cast<double>(2 * m * k * n);
      }
    }
  }
  apply_window(space, *sampler, 60, 240);
  return space;
}

// Half of a matrix's columns gates the other, and rows are gathered, so many as there are indices.
Space halved() {
  auto sampler = std::make_shared<Sampler>(
      std::initializer_list<const char*>{"GLU", "Gather"}, small_limits(40, 100, 1, 1e6),
      [](const Skeleton& s) {
        return s[0].operands[0].rank == 2 && s[0].parameters->dim == 1 && s[1].parameters->dim == 0;
      });
  Space space{"halved", {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t rows = 1; rows <= 40; ++rows) {
    for (int64_t half = 1; rows * 2 * half <= 40; ++half) {
      for (int64_t picked = 1; picked * half <= 40; ++picked) {
        if (rows * 3 * half + 2 * picked * half > 100) continue;
        space.outcomes.insert({rows, 2 * half, picked, half});
      }
    }
  }
  return space;
}

Space attended() {  // (B, L, E) with (B, S, E): two products over E and S
  auto sampler = std::make_shared<Sampler>(
      std::initializer_list<const char*>{"Attention"}, small_limits(24, 60, 40, 400),
      [](const Skeleton& s) { return s[0].operands[0].rank == 3; });
  const double each = find_operator("aten.scaled_dot_product_attention.default")->flops;
  Space space{"attended", {}, [sampler] { return sampler->draw(); }};
  space.parts = [sampler] { return sampler->parts(); };
  for (int64_t b = 1; b <= 24; ++b) {
    for (int64_t e = 1; b * e <= 24; ++e) {
      for (int64_t l = 1; b * l * e <= 24; ++l) {
        for (int64_t s = 1; b * s * e <= 24; ++s) {
          if (2 * b * l * e + b * s * e > 60) continue;
          space.flops[{b, l, e, b, s, e}] = each * static_cast<double>(b * l * e * s);
        }
      }
    }
  }
  apply_window(space, *sampler, 40, 400);
  return space;
}

// What a skeleton is, by numbers.
Outcome numbers(const Skeleton& skeleton) {
  Outcome all;
  for (const SynthStep& step : skeleton) {
    for (const Operand& operand : step.operands) {
      all.insert(all.end(), {operand.step, operand.rank, operand.mask});
    }
    all.insert(all.end(), {step.parameters->dim, step.parameters->keepdim});
  }
  return all;
}

Space reductions() {  // softmax, then a sum, by rank, dim and keepdim
  auto random = std::make_shared<Random>(12, 0);
  auto words = std::make_shared<SkeletonSpace>(word_of({"Softmax", "Sum"}));
  Space space{"reductions", {}, [=] { return numbers(words->draw(*random)); }};
  for (int64_t rank = 1; rank <= 5; ++rank) {
    for (int64_t dim = 0; dim < rank; ++dim) {
      for (int64_t over = 0; over < rank; ++over) {
        for (int64_t keepdim : {0, 1}) {
          if (rank == 1 && !keepdim) continue;
          space.outcomes.insert({-1, rank, 0, dim, 0, 0, rank, 0, over, keepdim});
        }
      }
    }
  }
  EXPECT_EQ(words->count(), static_cast<double>(space.outcomes.size()));
  return space;
}

Space wirings() {  // relu, tanh, and a product that reads one or two results, or a new tensor of
                   // rank 1
  auto random = std::make_shared<Random>(13, 0);
  auto words = std::make_shared<SkeletonSpace>(word_of({"ReLU", "Tanh", "Mul"}));
  // Of rank 1 alone, so that there are few.
  const auto draw = [=] {
    for (;;) {
      const Skeleton drawn = words->draw(*random);
      if (std::all_of(drawn.begin(), drawn.end(), [](const SynthStep& step) {
            return std::all_of(step.operands.begin(), step.operands.end(),
                               [](const Operand& o) { return o.rank == 1; });
          })) {
        return numbers(drawn);
      }
    }
  };
  Space space{"wirings", {}, draw};
  const Outcome start = {-1, 1, 0, 0, 0, 0, 1, 0, 0, 0};
  const auto add = [&](Outcome end) {
    end.insert(end.begin(), start.begin(), start.end());
    end.insert(end.end(), {0, 0});
    space.outcomes.insert(std::move(end));
  };
  for (int64_t i : {0, 1}) {
    for (int64_t j : {0, 1}) add({i, 1, 0, j, 1, 0});
    for (int64_t mask : {0, 1}) {
      add({i, 1, 0, -1, 1, mask});
      add({-1, 1, mask, i, 1, 0});
    }
  }
  return space;
}

TEST(Uniform, EverySpaceIsDrawnEvenly) {
  const char* tests = std::getenv("KW_TESTS");
  const bool all_tests = tests && std::string_view(tests) == "all";
  std::vector<std::pair<double, std::string>> found, biased;
  divides = false;
  for (const auto make : {matrix, product, convolution, pool, joined, added, two_costs, reductions,
                          wirings, matrix_by_log, product_by_log, halved, attended}) {
    const Space space = make();
    ASSERT_GT(space.outcomes.size(), 8u) << space.name;
    const int draws = 100'000;
    found.emplace_back(evenness(space, space.draw, draws), space.name);
    std::printf("%s: %zu outcomes, %d draws, p = %.3f\n", space.name.c_str(), space.outcomes.size(),
                draws, found.back().first);
    if (!all_tests) continue;
    // That the test would see half of the outcomes be 5 % less likely than the others.
    std::set<Outcome> less;
    for (const Outcome& outcome : space.outcomes) {
      if (less.size() < space.outcomes.size() / 2) less.insert(outcome);
    }
    Random random(14, 0);
    const auto draw = [&] {
      for (;;) {
        Outcome outcome = space.draw();
        if (!less.contains(outcome) || random.uniform() >= 0.05) return outcome;
      }
    };
    biased.emplace_back(evenness(space, draw, 3 * draws), space.name);
  }
  EXPECT_TRUE(uneven(found).empty()) << testing::PrintToString(uneven(found));
  EXPECT_EQ(uneven(biased).size(), biased.size());
}

// The same where assignments are divided as far as that goes.
TEST(Uniform, SoIsEverySpaceInParts) {
  std::vector<std::pair<double, std::string>> found;
  divides = true;
  for (const auto make : {matrix, product, convolution, pool, joined, added, two_costs,
                          matrix_by_log, product_by_log, halved, attended}) {
    const Space space = make();
    const int draws = 100'000;
    found.emplace_back(evenness(space, space.draw, draws), space.name);
    EXPECT_GT(space.parts(), 1u) << space.name;
    std::printf("%s: %zu parts, %d draws, p = %.3f\n", space.name.c_str(), space.parts(), draws,
                found.back().first);
  }
  EXPECT_TRUE(uneven(found).empty()) << testing::PrintToString(uneven(found));
}

}  // namespace
}  // namespace kw
