#include "policy/chat/prompt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "formats/json.h"
#include "policy/test_fragment.h"

namespace kw {
namespace {

using teacher::FragmentBuilder;
using teacher::num;
using teacher::profile;
using teacher::ref;

Task scaled_task() {
  FragmentBuilder b;
  const ValueId x = b.input({4, 8}), y = b.input({8, 4}, DType::kFloat16, {1, 8});
  const ValueId t = b.call("aten.relu.default", {{"self", ref(x)}}, {4, 8});
  const ValueId u =
      b.call("aten.add.Tensor", {{"self", ref(t)}, {"other", ref(y)}, {"alpha", Arg{0.1}}}, {4, 8});
  return b.build(b.call("aten.leaky_relu.default",
                        {{"self", ref(u)}, {"negative_slope", Arg{1.0 / 3}}}, {4, 8}));
}

TEST(TaskText, IsAFunctionOfTheArguments) {
  EXPECT_EQ(task_text(scaled_task()), R"(def forward(
    a0,  # float32 (4, 8)
    a1,  # float16 (8, 4) strides (1, 8)
):
    t0 = torch.relu(a0)  # float32 (4, 8)
    t1 = torch.add(t0, a1, alpha=0.1)  # float32 (4, 8)
    t2 = torch.ops.aten.leaky_relu.default(t1, 0.3333333333333333)  # float32 (4, 8)
    return t2
)");
}

TEST(TaskText, NamesBeginWhereTheyAreToldTo) {
  const std::string text = task_text(scaled_task(), 17);
  EXPECT_NE(text.find("t17 = torch.relu(a0)"), std::string::npos) << text;
  EXPECT_NE(text.find("t18 = torch.add(t17, a1"), std::string::npos) << text;
  EXPECT_NE(text.find("return t19"), std::string::npos) << text;
}

TEST(TaskText, NumbersReadBackAsTheyAre) {
  for (double x : {0.1, 1e-45, 3.0, 1e300, -0.0, 1.0 / 3, 123456789012345680.0}) {
    FragmentBuilder b;
    const ValueId a = b.input({2});
    const ValueId t =
        b.call("aten.leaky_relu.default", {{"self", ref(a)}, {"negative_slope", Arg{x}}}, {2});
    const std::string text = task_text(b.build(t));
    const size_t at = text.find("default(a0, ") + 12;
    EXPECT_EQ(std::strtod(text.c_str() + at, nullptr), x) << text;
  }
}

TEST(Prompt, NamesTheDeviceAndTheArguments) {
  const Prompt prompt = make_prompt(scaled_task(), device_profile("h200"));
  EXPECT_NE(prompt.user.find(device_profile("h200").name), std::string::npos);
  EXPECT_NE(prompt.user.find("forward(self, a0, a1)"), std::string::npos);
  EXPECT_NE(prompt.user.find(task_text(scaled_task())), std::string::npos);
  EXPECT_NE(prompt.system.find("class ModelNew"), std::string::npos);
}

const std::string kPromptCode = "import torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n";

TEST(ParseAnswer, TakesPlanAndCode) {
  const Answer answer =
      parse_answer("Plan: t0, pointwise\n\n```python\n" + kPromptCode + "```\nDone.");
  EXPECT_EQ(answer.fault, "");
  EXPECT_EQ(answer.plan, "Plan: t0, pointwise");
  EXPECT_EQ(answer.source, kPromptCode);
}

TEST(ParseAnswer, DropsThoughts) {
  const std::string thought = "<think>```python\nclass ModelNew: wrong\n```</think>";
  const std::string answer = "plan\n```python\n" + kPromptCode + "```";
  EXPECT_EQ(parse_answer(thought + answer).source, kPromptCode);
  EXPECT_EQ(parse_answer("opened by the template</think>" + answer).plan, "plan");
  EXPECT_EQ(parse_answer("<think>a</think>" + thought + answer).plan, "plan");
  EXPECT_NE(parse_answer(answer + "<think>").fault.find("ends in a thought"), std::string::npos);
}

TEST(ParseAnswer, TakesTheLastBlockThatIsWholeAndHasTheClass) {
  const std::string other = "import torch\nclass ModelNew(torch.nn.Module): old = 1\n";
  const std::string both = "```\n" + other + "```\nbetter:\n```py\n" + kPromptCode + "```\n";
  EXPECT_EQ(parse_answer(both).source, kPromptCode);
  EXPECT_EQ(parse_answer(both + "```sh\nrun it\n```").source, kPromptCode);
  EXPECT_EQ(parse_answer(both + "```python\nclass ModelNew: cut").source, kPromptCode);
  EXPECT_EQ(parse_answer("````python\n" + kPromptCode + "```\n" + kPromptCode + "````\n").source,
            kPromptCode + "```\n" + kPromptCode);
}

TEST(ParseAnswer, TakesCodeWithoutFences) {
  const Answer answer = parse_answer("A plan\nof two lines\n" + kPromptCode);
  EXPECT_EQ(answer.fault, "");
  EXPECT_EQ(answer.plan, "A plan\nof two lines");
  EXPECT_EQ(answer.source, kPromptCode);
}

TEST(ParseAnswer, SaysWhatIsWrong) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {" \n", "is empty"},
      {"I cannot do that.", "no code block"},
      {"class ModelNew", "no import"},
      {"```python\nimport torch\n```", "`class ModelNew`"},
      {"plan\n```python\n" + kPromptCode, "cut off"},
      {"<think>so", "cut off"},
      {"\xff", "UTF-8"},
      {std::string(kLongestAnswer + 1, 'x'), "too long"},
      {"```\n" + kPromptCode + std::string(kLongestSource, '#') + "\n```", "too long"},
  };
  for (const auto& [text, reason] : cases) {
    const Answer answer = parse_answer(text);
    EXPECT_NE(answer.fault.find(reason), std::string::npos) << answer.fault;
    EXPECT_EQ(answer.source, "");
  }
}

// Either code with the class in it, or a reason; never both.
void expect_consistent(const std::string& text) {
  const Answer answer = parse_answer(text);
  EXPECT_EQ(answer.fault.empty(), !answer.source.empty());
  EXPECT_LE(answer.plan.size(), kLongestPlan);
  EXPECT_TRUE(is_utf8(answer.plan));
  EXPECT_TRUE(is_utf8(answer.source));
  if (answer.fault.empty()) {
    EXPECT_NE(answer.source.find("class ModelNew"), std::string::npos);
    if (text.find("think>") == std::string::npos) {
      EXPECT_NE(text.find(answer.source), std::string::npos);
    }
  }
  EXPECT_EQ(answer.fault.find('\n'), std::string::npos);
}

TEST(ParseAnswer, StandsTruncationAnywhere) {
  const std::string text =
      "<think>why é\n```</think>plan é\n```python\n" + kPromptCode + "```\n  ```x\n";
  const size_t closed = text.find("```\n  ```x") + 3;
  for (size_t n = 0; n <= text.size(); ++n) {
    const std::string part = text.substr(0, n);
    expect_consistent(part);
    EXPECT_EQ(parse_answer(part).fault.empty(), n >= closed) << part;
  }
}

TEST(ParseAnswer, StandsAnything) {
  std::mt19937 random(7);
  const std::string pieces[] = {
      "```", "`",        "\n",   "<think>", "</think>", "class ModelNew", "import ", "from ", "x",
      " ",   "\xc3\xa9", "\xc3", "\r\n",    "~~~",      "python"};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = std::uniform_int_distribution<int>(0, 25)(random); i > 0; --i) {
      text += round % 4 == 0 ? std::string(1, static_cast<char>(random()))
                             : pieces[random() % std::size(pieces)];
    }
    expect_consistent(text);
  }
}

// A quadratic reader would take minutes.
TEST(ParseAnswer, TakesTimeInProportionToLength) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string piece :
       {"</think>", "<think>", "<think></think>", "```\n", "```x\n", "`", "import \n",
        "class ModelNew ", "\n", "<think></think></think>"}) {
    std::string text;
    while (text.size() + piece.size() <= kLongestAnswer) text += piece;
    expect_consistent(text);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(FunctionForm, AClassIsPutBehindTheFunction) {
  const FunctionForm form = {"f", "class ModelNew: pass\n"};
  const std::string code = "import torch\ndef f (x):\n    return x\n";
  EXPECT_EQ(with_model(code, true, form), code + "\n\nclass ModelNew: pass\n");
  const std::string answer = "A plan.\n```python\n" + code + "```\n```python\nf(1)\n```\n";
  EXPECT_EQ(parse_answer(with_model(answer, false, form)).source,
            code + "\n\nclass ModelNew: pass\n");
  EXPECT_EQ(parse_answer(with_model(answer, false, form)).plan, "A plan.");
  // Thoughts define nothing.
  const std::string thought = "<think>```\ndef f(x): 1\n```</think>" + answer;
  EXPECT_EQ(parse_answer(with_model(thought, false, form)).source,
            code + "\n\nclass ModelNew: pass\n");
}

TEST(FunctionForm, WhatIsSaidOfAClassIsNone) {
  const FunctionForm form = {"f", "class ModelNew: pass\n"};
  const std::string kernel = "@triton.jit\ndef k(x):\n    pass\n", code = kernel + "def f(x): 1\n";
  const auto source = [&](const std::string& answer) {
    return parse_answer(with_model(answer, false, form)).source;
  };
  const std::string behind = "\n\nclass ModelNew: pass\n";
  EXPECT_EQ(source("No class ModelNew is needed.\n```\n" + code + "```\n"), code + behind);
  const std::string remark = "# no class ModelNew\n" + code;
  EXPECT_EQ(source("```\n" + remark + "```\n"), remark + behind);
  const std::string renamed = kernel + "def g(x): 1\n\nf = g\n";
  EXPECT_EQ(source("```\n" + renamed + "```\n"), renamed + behind);
  EXPECT_EQ(source("```\n" + code + "```\nIn use:\n```\ndef f(x): ...\nf(1)\n```\n"),
            code + behind);
  // Its kernels may be another module's.
  const std::string imported = "import triton\nfrom kernels import k\ndef f(x): k[(1,)](x)\n";
  EXPECT_EQ(source("```\n" + imported + "```\nIn use:\n```\ndef f(x): ...\nf(1)\n```\n"),
            imported + behind);
  EXPECT_EQ(source("```\n" + kernel + "f == 1\n```\n"), "");
}

TEST(FunctionForm, OtherTextsStayAsTheyAre) {
  const FunctionForm form = {"f", "class ModelNew: pass\n"};
  for (const std::string text :
       {"def g(x):\n    pass\n", " def f(x):\n    pass\n", "def ff(x): pass", "# def f(x)", "",
        "def f", "class ModelNew: 1\ndef f(x): 2\n", "<think>def f(x): 1"}) {
    EXPECT_EQ(with_model(text, true, form), text);
    EXPECT_EQ(with_model(text, false, form), text);
    const std::string fenced = "```\n" + text + "\n```\n";
    EXPECT_EQ(with_model(fenced, false, form), fenced);
  }
  EXPECT_EQ(with_model("```\ndef f(x): 1\n", false, form), "```\ndef f(x): 1\n");  // cut off
}

}  // namespace
}  // namespace kw
