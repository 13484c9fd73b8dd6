#include "search/form/forms.h"

#include <gtest/gtest.h>

#include <random>

#include "program/cost.h"
#include "program/rewrite/algebra.h"
#include "program/task_json.h"
#include "search/form/test_form.h"

namespace kw {
namespace {

// A model's text under construction, with the shape of what flows.
class Chain {
 public:
  Chain(std::vector<int64_t> shape, unsigned seed) : shape_(std::move(shape)), rng_(seed) {
    for (int64_t d : shape_) input_ += (input_.empty() ? "" : ", ") + std::to_string(d);
  }

  const std::string& init() const { return init_; }
  std::string forward() const { return forward_ + "        return x\n"; }
  const std::string& input() const { return input_; }

  void layer() {
    const bool image = shape_.size() >= 4 || (shape_.size() == 3 && image_);
    if (image) image_ = true;
    switch (pick(image ? 6 : 5)) {
      case 0:
      case 1:
        return image ? convolution() : product();
      case 2:
        return norm(image);
      case 3:
        return arithmetic(image ? 1 : rank() - 1);
      case 4:
        return reduction(image);
      default:
        return pool();
    }
  }
  void convolutional() { image_ = true; }

 private:
  int pick(int count) { return static_cast<int>(rng_() % count); }
  int rank() const { return static_cast<int>(shape_.size()); }
  static std::string text(int64_t n) { return std::to_string(n); }
  std::string member() { return "self.m" + text(members_++); }
  void apply(const std::string& expression) { forward_ += "        x = " + expression + "\n"; }
  void make(const std::string& name, const std::string& value) {
    init_ += "        " + name + " = " + value + "\n";
  }

  void product() {
    const int64_t in = shape_.back(), out = 4 + pick(3) * 8;
    const std::string w = member();
    shape_.back() = out;
    if (pick(3) == 0) {
      make(w, "nn.Parameter(torch.randn(" + text(in) + ", " + text(out) + "))");
      if (rank() == 2 && pick(2)) {
        const std::string b = member();
        make(b, "nn.Parameter(torch.randn(" + text(out) + "))");
        return apply("torch.addmm(" + b + ", x, " + w + ", beta=0.5, alpha=2)");
      }
      return apply("x @ " + w);
    }
    make(w, "nn.Linear(" + text(in) + ", " + text(out) + (pick(2) ? ")" : ", bias=False)"));
    apply(w + "(x)");
  }

  void convolution() {
    const int64_t in = shape_[1], out = 4 + pick(2) * 4, dims = rank() - 2;
    const std::string c = member(), d = text(dims) + "d(";
    const std::string groups = in % 2 == 0 && pick(3) == 0 ? ", groups=2" : "";
    const std::string tail = groups + (pick(2) ? ")" : ", bias=False)");
    shape_[1] = out;
    const std::string sizes = text(in) + ", " + text(out) + ", ";
    int64_t grown = 0;
    switch (pick(4)) {
      case 0:
        make(c, "nn.Conv" + d + sizes + "3, padding=1" + tail);
        break;
      case 1:
        make(c, "nn.ConvTranspose" + d + sizes + "2, stride=2" + tail);
        grown = -1;
        break;
      default:
        make(c, "nn.Conv" + d + sizes + "1" + tail);
    }
    for (int64_t i = 2; i < rank(); ++i) shape_[i] *= grown < 0 ? 2 : 1;
    apply(c + "(x)");
  }

  void norm(bool image) {
    if (!image && rank() != 2) return;
    const std::string n = member();
    make(n, "nn.BatchNorm" + text(image ? rank() - 2 : 1) + "d(" + text(shape_[1]) +
                (pick(3) ? ")" : ", affine=False)"));
    apply(n + "(x)");
  }

  void arithmetic(int channel) {
    static const char* kNumbers[] = {"x * 0.7", "x / 1.3", "x + 0.5", "0.25 - x", "-x", "x - 2"};
    static const char* kTerms[] = {"x * ", "x / ", "x + ", "x - "};
    if (pick(2)) return apply(kNumbers[pick(6)]);
    std::string shape = text(shape_[channel]);
    for (int d = channel + 1; d < rank(); ++d) shape += ", 1";
    const std::string p = member();
    make(p, "nn.Parameter(torch.rand(" + shape + ") + 0.5)");
    apply(kTerms[pick(4)] + p);
  }

  void reduction(bool image) {
    if (rank() == 2) return apply("F.relu(x)");
    const std::string op = pick(2) ? "mean" : "sum";
    if (image && pick(2)) {
      apply("x." + op + "(dim=1, keepdim=True)");
      shape_[1] = 1;
      return;
    }
    if (image) {
      std::string dims;
      for (int d = 2; d < rank(); ++d) dims += text(d) + ", ";
      apply("x." + op + "(dim=(" + dims + "))");
      shape_.resize(2);
      image_ = false;
      return;
    }
    apply("x." + op + "(dim=1)");
    shape_.erase(shape_.begin() + 1);
  }

  void pool() {
    if (rank() == 3 || shape_[2] % 2 != 0) return apply("F.relu(x)");
    apply("F.avg_pool" + text(rank() - 2) + "d(x, 2)");
    for (int i = 2; i < rank(); ++i) shape_[i] /= 2;
  }

  std::vector<int64_t> shape_;
  std::mt19937 rng_;
  std::string init_, forward_, input_;
  int members_ = 0;
  bool image_ = false;
};

const char* kConv = "        self.a = nn.Conv2d(4, 8, 3, padding=1)\n";
const char* kImage = "2, 4, 6, 6";

int count_steps(const Task& task, const std::string& part) {
  int count = 0;
  for (const Step& step : task.forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    count += call && call->op.find(part) != std::string::npos;
  }
  return count;
}

class AlgebraOnProcesses : public FormTest {
 protected:
  // The simplified form as it is searched; nullopt when nothing was simplified.
  std::optional<Form> form(const std::string& text) {
    prepare(text);
    if (const auto simple = simplified(reference_.task)) {
      EXPECT_NO_THROW(check_task(simple->task));
    }
    for (Form& form : forms_of(reference_.task, false, record_again())) {
      if (form.name == "simplified") return form;
    }
    EXPECT_FALSE(simplified(reference_.task)) << "not recorded again\n" << text;
    return std::nullopt;
  }
  // Simplified, equal and cheaper.
  Task expect_simplified(const std::string& init, const std::string& forward,
                         const std::string& shape, const std::string& change) {
    const auto found = form(model(init, forward, shape));
    if (!found) {
      ADD_FAILURE() << "not simplified:\n" << text_;
      return reference_.task;
    }
    EXPECT_EQ(found->changes, std::vector<std::string>{change});
    expect_equal(found->task);
    expect_cheaper(found->task);
    return found->task;
  }
  void expect_cheaper(const Task& task) {
    const Cost ours = program_cost(task.forward), theirs = program_cost(reference_.task.forward);
    EXPECT_LE(ours.flops, theirs.flops) << text_;
    EXPECT_LE(ours.bytes, theirs.bytes) << text_;
    EXPECT_LT(ours.flops + ours.bytes, theirs.flops + theirs.bytes) << text_;
  }
  void expect_untouched(const std::string& init, const std::string& forward,
                        const std::string& shape) {
    EXPECT_FALSE(form(model(init, forward, shape))) << text_;
  }
};

TEST_F(AlgebraOnProcesses, RandomChainsStayEqualAndGetCheaper) {
  static const std::vector<std::vector<int64_t>> kShapes = {
      {9, 12}, {3, 5, 12}, {2, 4, 10}, {2, 4, 6, 6}, {2, 4, 4, 4, 4}};
  int changed = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<int64_t>& shape = kShapes[seed % kShapes.size()];
    Chain chain(shape, seed);
    if (seed % kShapes.size() == 2) chain.convolutional();
    for (int i = 0; i < 5; ++i) chain.layer();
    const auto found = form(model(chain.init(), chain.forward(), chain.input()));
    if (!found) continue;
    ++changed;
    expect_equal(found->task);
    expect_cheaper(found->task);
    if (HasFailure()) break;
  }
  EXPECT_GE(changed, 20);
}

TEST_F(AlgebraOnProcesses, BatchNormGoesIntoTheConvolutionBeforeIt) {
  const Task task = expect_simplified(
      "        self.a = nn.Conv2d(4, 8, 3, padding=1, groups=2, bias=False)\n"
      "        self.n = nn.BatchNorm2d(8)\n",
      "        return F.relu(self.n(self.a(x)))\n", "2, 4, 6, 6",
      "a batch norm folded into a convolution");
  EXPECT_EQ(count_steps(task, "batch_norm"), 0);
  EXPECT_EQ(task.forward.steps.size(), 2u);
  EXPECT_EQ(task.derive.outputs.size(), 2u);
}

// (x - m) W is not x W - m W in float32 where m is large, and a state may be loaded where it is.
TEST_F(AlgebraOnProcesses, AddendsInFrontOfAMapStay) {
  expect_untouched("        self.n = nn.BatchNorm1d(12)\n        self.a = nn.Linear(12, 20)\n",
                   "        return self.a(self.n(x))\n", "8, 12");
  expect_untouched(
      "        self.m = nn.Parameter(torch.zeros(12))\n        self.a = nn.Linear(12, 20)\n",
      "        return self.a(x - self.m)\n", "8, 12");
}

TEST_F(AlgebraOnProcesses, FactorsGoIntoTheConvolutionBehindThem) {
  for (const char* layer : {"nn.Conv2d(4, 8, 3, padding=1, groups=2)",
                            "nn.ConvTranspose2d(4, 8, 3, stride=2, padding=1, groups=2)"}) {
    const bool transposed = std::string(layer).find("Transpose") != std::string::npos;
    expect_simplified(std::string("        self.a = ") + layer +
                          "\n        self.s = nn.Parameter(torch.rand(4, 1, 1))\n",
                      "        return self.a(x * self.s)\n", "2, 4, 6, 6",
                      std::string("a factor or addend folded into a ") +
                          (transposed ? "transposed convolution" : "convolution"));
  }
}

TEST_F(AlgebraOnProcesses, MeanOfATransposedConvolutionIsALinearLayer) {
  const Task task = expect_simplified(
      "        self.a = nn.ConvTranspose2d(6, 40, 3, stride=2, dilation=2, output_padding=1)\n",
      "        return F.adaptive_avg_pool2d(self.a(x), 1)\n", "3, 6, 5, 5",
      "a mean moved before a transposed convolution");
  EXPECT_EQ(count_steps(task, "conv"), 0);
  EXPECT_EQ(count_steps(task, "linear"), 1);
}

TEST_F(AlgebraOnProcesses, PoolsMoveBeforeMapsOfEachPosition) {
  expect_simplified("        self.a = nn.Conv2d(4, 8, 1, groups=2)\n",
                    "        return F.avg_pool2d(self.a(x), 3, stride=2)\n", "2, 4, 9, 9",
                    "an average pool moved before a convolution");
  expect_simplified("        self.a = nn.Conv2d(4, 8, 1)\n",
                    "        return F.adaptive_avg_pool2d(self.a(x), (3, 2))\n", "2, 4, 8, 8",
                    "an average pool moved before a convolution");
  expect_simplified("        self.a = nn.Conv2d(4, 8, 1, groups=4)\n",
                    "        return self.a(x).sum(dim=(3,))\n", "2, 4, 8, 8",
                    "a sum moved before a convolution");
}

TEST_F(AlgebraOnProcesses, SumOfFeaturesIsOneFeature) {
  expect_simplified("        self.a = nn.Linear(12, 30)\n",
                    "        return self.a(x).sum(dim=-1)\n", "70, 12",
                    "a sum of features folded into a linear layer");
  expect_simplified("        self.a = nn.ConvTranspose1d(6, 10, 3)\n",
                    "        return self.a(x).mean(dim=1, keepdim=True)\n", "4, 6, 20",
                    "a mean of features folded into a transposed convolution");
}

TEST_F(AlgebraOnProcesses, TwoLinearLayersAreOneWhereThatIsLess) {
  const std::string forward = "        return self.b(self.a(x))\n";
  expect_simplified(
      "        self.a = nn.Linear(16, 64)\n        self.b = nn.Linear(64, 16, bias=False)\n",
      forward, "9, 16", "two linear layers made one");
  expect_simplified("        self.a = nn.Conv2d(4, 16, 1)\n        self.b = nn.Conv2d(16, 4, 1)\n",
                    forward, "2, 4, 6, 6", "two convolutions made one");
  expect_untouched("        self.a = nn.Linear(64, 4)\n        self.b = nn.Linear(4, 64)\n",
                   forward, "99, 64");
}

TEST_F(AlgebraOnProcesses, APointwiseConvolutionGoesIntoTheOneBeforeIt) {
  expect_simplified(
      "        self.a = nn.Conv2d(4, 16, 3, stride=2, padding=1)\n"
      "        self.b = nn.Conv2d(16, 4, 1)\n",
      "        return self.b(self.a(x))\n", "2, 4, 8, 8", "two convolutions made one");
}

TEST_F(AlgebraOnProcesses, SumsOfTwoMapsAreOneMap) {
  const std::string linears =
      "        self.a = nn.Linear(12, 20)\n        self.b = nn.Linear(12, 20)\n";
  expect_simplified(linears, "        return self.a(x) + self.b(x)\n", "9, 12",
                    "a sum of two maps made one");
  expect_simplified(linears, "        return self.a(x) - self.b(x)\n", "9, 12",
                    "a difference of two maps made one");
  expect_simplified(kConv, "        return self.a(x) - self.a(torch.tanh(x))\n", kImage,
                    "a difference of two maps made one");
  expect_untouched(linears, "        return self.a(x) + torch.tanh(x) @ self.b.weight.t()\n",
                   "9, 12");
  expect_untouched(
      "        self.a = nn.Conv2d(4, 8, 3, padding=1)\n"
      "        self.b = nn.Conv2d(4, 8, 3, padding=2, dilation=2)\n",
      "        return self.a(x) + self.b(x)\n", "2, 4, 6, 6");
  expect_untouched(linears, "        y = self.a(x)\n        return y + self.b(x), y\n", "9, 12");
}

TEST_F(AlgebraOnProcesses, WeightsThatFollowFromParametersAreConstants) {
  expect_simplified(
      "        self.w = nn.Parameter(torch.randn(20, 12))\n"
      "        self.g = nn.Parameter(torch.rand(20, 1))\n",
      "        return (x @ (self.w * self.g).t()) * 3\n", "9, 12",
      "a factor or addend folded into a linear layer");
}

// One condition each.

TEST_F(AlgebraOnProcesses, NotWhereTheValueBetweenIsAResult) {
  expect_untouched(kConv, "        y = self.a(x)\n        return y, y * 2\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotWhereTheValueBetweenIsReadAgain) {
  expect_untouched(kConv, "        y = self.a(x)\n        return y * 2 + torch.tanh(y)\n", kImage);
  expect_untouched(kConv, "        y = self.a(x)\n        return y * y\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotWhereTheValueBetweenIsOverwritten) {
  expect_untouched(kConv, "        y = self.a(x)\n        F.relu_(y)\n        return y * 2\n",
                   kImage);
  expect_untouched(kConv, "        y = self.a(x)\n        y *= 2\n        return y\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotWhereTheValueBetweenHasViews) {
  expect_untouched(
      kConv, "        y = self.a(x)\n        z = y[:1]\n        return y * 2, torch.tanh(z)\n",
      kImage);
}

TEST_F(AlgebraOnProcesses, NotABatchNormInTraining) {
  const std::string init = std::string(kConv) + "        self.n = nn.BatchNorm2d(8)\n";
  expect_untouched(init,
                   "        return F.batch_norm(self.a(x), None, None, self.n.weight, self.n.bias, "
                   "training=True)\n",
                   kImage);
  expect_untouched(init, "        self.n.train()\n        return self.n(self.a(x))\n", kImage);
}

// Training would change these without a trace in the exported file's version counters.
TEST_F(AlgebraOnProcesses, NotABatchNormThatCountsNoBatches) {
  const std::string init = std::string(kConv) +
                           "        self.register_buffer('mean', torch.zeros(8))\n"
                           "        self.register_buffer('var', torch.ones(8))\n";
  expect_untouched(init, "        return F.batch_norm(self.a(x), self.mean, self.var)\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotWhatForwardUpdates) {
  const std::string init =
      std::string(kConv) + "        self.register_buffer('s', torch.rand(8, 1, 1))\n";
  expect_untouched(
      init, "        y = self.a(x) * self.s\n        self.s.add_(1)\n        return y\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotInOtherPrecisions) {
  for (const char* dtype : {"float16", "bfloat16", "float64"}) {
    const std::string to = std::string("        self.to(torch.") + dtype + ")\n";
    expect_untouched(kConv + to,
                     std::string("        return self.a(x.to(torch.") + dtype + ")) * 2\n", kImage);
  }
}

TEST_F(AlgebraOnProcesses, NotAFactorThatFlows) {
  expect_untouched(kConv, "        return self.a(x) * x.mean()\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotAFactorOfAnotherDimension) {
  const std::string init =
      std::string(kConv) + "        self.s = nn.Parameter(torch.rand(1, 1, 6, 1))\n";
  expect_untouched(init, "        return self.a(x) * self.s\n", kImage);
  expect_untouched(
      "        self.a = nn.Linear(8, 8)\n        self.s = nn.Parameter(torch.rand(8, 1))\n",
      "        return self.a(x) * self.s\n", "8, 8");
  // A batch norm over tokens behind a layer of features.
  expect_untouched("        self.a = nn.Linear(8, 8)\n        self.n = nn.BatchNorm1d(8)\n",
                   "        return self.n(self.a(x))\n", "3, 8, 8");
}

TEST_F(AlgebraOnProcesses, NotWhereAFactorWidensTheResult) {
  expect_untouched(
      "        self.a = nn.Linear(8, 1)\n        self.s = nn.Parameter(torch.rand(5))\n",
      "        return self.a(x) * self.s\n", "3, 8");
}

TEST_F(AlgebraOnProcesses, NotAnAddendBeforeAConvolution) {
  expect_untouched(kConv, "        return self.a(x + 2)\n", kImage);
  expect_untouched("        self.a = nn.Conv2d(4, 8, 3)\n", "        return self.a(x + 2)\n",
                   kImage);
  expect_untouched(
      "        self.n = nn.BatchNorm2d(4)\n        self.a = nn.ConvTranspose2d(4, 8, 2)\n",
      "        return self.a(self.n(x))\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotAPoolWhoseWindowsReachOutside) {
  const std::string init = "        self.a = nn.Conv2d(4, 8, 1)\n";
  expect_untouched(init, "        return F.avg_pool2d(self.a(x), 3, padding=1)\n", kImage);
  expect_untouched(init, "        return F.avg_pool2d(self.a(x), 4, ceil_mode=True)\n", kImage);
  expect_untouched(init, "        return F.avg_pool2d(self.a(x), 2, divisor_override=3)\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotAcrossWindowsOfAConvolution) {
  expect_untouched(kConv, "        return F.avg_pool2d(self.a(x), 2)\n", kImage);
  expect_untouched(kConv, "        return self.a(x).mean(dim=(2, 3))\n", kImage);
  expect_untouched("        self.a = nn.Conv2d(4, 8, 1, stride=2)\n",
                   "        return self.a(x).mean(dim=(2, 3))\n", kImage);
  expect_untouched("        self.a = nn.ConvTranspose2d(4, 8, 3, padding=1)\n",
                   "        return self.a(x).mean(dim=(2, 3))\n", kImage);
  expect_untouched("        self.a = nn.ConvTranspose2d(4, 8, 3)\n",
                   "        return self.a(x).mean(dim=2)\n", kImage);
}

TEST_F(AlgebraOnProcesses, NotWhereItCostsMore) {
  // The pool would run over many more channels than it does behind the convolution.
  expect_untouched("        self.a = nn.Conv2d(64, 1, 1)\n",
                   "        return F.avg_pool2d(self.a(x), 3, stride=1)\n", "2, 64, 8, 8");
}

TEST_F(AlgebraOnProcesses, NotAnotherDivision) {
  expect_untouched(kConv, "        return torch.div(self.a(x), 2, rounding_mode='floor')\n",
                   kImage);
  expect_untouched(kConv, "        return 2 / self.a(x)\n", kImage);
}

// In float32 the new weight is subnormal and keeps a few bits only: the form is found out.
TEST_F(AlgebraOnProcesses, AFormThatRoundsBadlyIsNotCorrect) {
  const std::string init = "        self.w = nn.Parameter(torch.randn(12, 20) * SMALL)\n";
  for (const auto& [small, correct] :
       std::map<std::string, bool>{{"1e-12", false}, {"1.0", true}}) {
    std::string made = init;
    made.replace(made.find("SMALL"), 5, small);
    const auto found = form(model(made, "        return (x * 1e-30) @ self.w\n", "9, 12) * (1e30"));
    ASSERT_TRUE(found);
    EXPECT_TRUE(machine_->verifier.is_correct(reference_, reference_.task, {}));
    EXPECT_EQ(machine_->verifier.is_correct(reference_, found->task, {}), correct) << small;
  }
}

// Equal changes are told once.
TEST_F(AlgebraOnProcesses, ChangesAreCounted) {
  const auto found =
      form(model("        self.a = nn.Linear(8, 8)\n        self.b = nn.Linear(8, 8)\n",
                 "        return torch.tanh(self.b(torch.tanh(self.a(x) * 2)) + 1)\n", "9, 8"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->changes,
            std::vector<std::string>{"a factor or addend folded into a linear layer (2 times)"});
}

TEST_F(AlgebraOnProcesses, FormsComeInEveryLayout) {
  prepare(model(std::string(kConv) + "        self.n = nn.BatchNorm2d(8)\n",
                "        return F.relu(self.n(self.a(x)))\n", kImage));
  std::vector<std::string> names;
  for (const Form& form : forms_of(reference_.task, true, record_again())) {
    names.push_back(form.name);
    expect_equal(form.task);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"", "biases apart", "simplified, biases apart",
                                             "biases apart, channels last",
                                             "simplified, biases apart, channels last"}));
}

}  // namespace
}  // namespace kw
