#include "policy/text_rule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace kw {
namespace {

constexpr const char* kKernel = R"(import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64})],
    key=["n"],
)
@triton.jit
def relu_kernel(
    x, out, n,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.maximum(value, 0) + tl.sum(value @ value), mask=at < n)


)";

std::string with_body(const std::string& body) {
  std::string out = kKernel;
  out += "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n";
  return out + body;
}

TEST(TextRule, KernelsThatAreLaunchedPass) {
  EXPECT_EQ(text_rule(with_body("        out = torch.empty_like(x)\n"
                                "        relu_kernel[(4,)](x, out, x.numel(), BLOCK=64)\n"
                                "        return out.view(-1)  # not torch.relu(x)\n")),
            "");
  EXPECT_EQ(text_rule(with_body(
                "        '''torch.softmax(x) @ x'''\n        out = torch.empty(3)\n"
                "        relu_kernel [(4,)](x, out)\n        return math.exp(1.) + out\n")),
            "");
}

TEST(TextRule, WhatPyTorchComputesBreaksIt) {
  const std::string launch = "        relu_kernel[(4,)](x, x)\n";
  EXPECT_EQ(text_rule(with_body(launch + "        return torch.relu(x)\n")),
            "PyTorch is called: torch.relu");
  EXPECT_EQ(text_rule(with_body(launch + "        return F.softmax (x)\n")),
            "PyTorch is called: F.softmax");
  EXPECT_EQ(text_rule(with_body(launch + "        return torch.nn.functional.conv2d(x, x)\n")),
            "PyTorch is called: torch.nn.functional.conv2d");
  EXPECT_EQ(text_rule(with_body(launch + "        return x.view(-1).mul_(1)\n")),
            "PyTorch is called: .mul_");
  EXPECT_EQ(text_rule(with_body(launch + "        return x @ x\n")), "PyTorch multiplies by @");
}

// What is called much like an operator, and is none.
TEST(TextRule, OthersNamesAreNoneOfPyTorchs) {
  for (const char* line :
       {"x = x.contiguous()", "seen.add(1)", "at = shape.index(4)", "log.log(x)",
        "y = self.softmax(x)", "n = builtins.max(1, 2)", "x = x.t().reshape(2, -1)",
        "y = torch.empty_like(x).zero_()", "with torch.cuda.device(x.device): pass",
        "a = torch.nn.Parameter(x)", "y = torch.transpose(x, 0, 1)", "n = math.exp(1)", "tl.sum(x)",
        "y = torch.swapaxes(x, 0, 1)", "y = torch.broadcast_to(x, (2, 3))",
        "y = torch.movedim(x, 0, 1)", "y = torch.ravel(x).swapdims(0, 1)"}) {
    EXPECT_EQ(text_rule(with_body("        relu_kernel[(4,)](x, x)\n        " + std::string(line) +
                                  "\n")),
              "")
        << line;
  }
}

// Functions that are taken apart into operators of other names, and such that no table has.
TEST(TextRule, AnyFunctionOfTorchComputes) {
  for (const std::string call : {"F.max_pool2d", "F.cross_entropy", "torch.einsum", "F.interpolate",
                                 "F.pad", "F.relu6", "torch.nn.functional.normalize", "torch.cdist",
                                 "torch.tensordot", "torch.multiply", "torch.concat", "torch.cat",
                                 "torch.linalg.norm", "torch.ops.aten.mm", "nn.functional.gelu"}) {
    EXPECT_EQ(
        text_rule(with_body("        relu_kernel[(4,)](x, x)\n        y = " + call + "(x)\n")),
        "PyTorch is called: " + call);
  }
  EXPECT_EQ(text_rule(with_body("        relu_kernel[(4,)](x, x)\n        return (\n            x\n"
                                "            @ x\n        )\n")),
            "PyTorch multiplies by @");
}

TEST(TextRule, LinesMayEndAsOnWindows) {
  std::string text = with_body("        relu_kernel[(4,)](x, x)\n        return x\n");
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\r\n");
  }
  // A blank line within the kernel.
  text.replace(text.find("    value ="), 0, "\r\n");
  EXPECT_EQ(text_rule(text), "");
}

TEST(TextRule, KernelsAreKnownByOtherWords) {
  EXPECT_EQ(
      text_rule("import triton as tr\n@tr.jit\ndef k(x):\n    pass\n\n\nclass A:\n    kernel = k\n"
                "    def f(self, x):\n        self.k[(1,)](x)\n"),
      "");
  EXPECT_EQ(text_rule("@torch.jit.script\ndef k(x):\n    pass\nk[(1,)](2)\n"),
            "there is no function with @triton.jit");
}

// Kernels within kernels, each of which would be looked for an end of.
TEST(TextRule, TakesTimeInProportion) {
  std::string text = "@triton.jit\ndef f():\n";
  for (int i = 0; i < 200000; ++i) text += " @triton.jit\n def g():\n";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(text_rule(text), "no kernel is launched");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(TextRule, KernelsMustBeThereAndLaunched) {
  EXPECT_EQ(text_rule(""), "there is no function with @triton.jit");
  EXPECT_EQ(text_rule("# @triton.jit\ndef f():\n    pass\n"),
            "there is no function with @triton.jit");
  EXPECT_EQ(text_rule("@triton.jit\nclass A: pass\ndef f(): pass\n"),
            "there is no function with @triton.jit");
  EXPECT_EQ(text_rule(with_body("        return x\n")), "no kernel is launched");
  // In another kernel, or in a text, it is no launch.
  EXPECT_EQ(text_rule(with_body("        return 'relu_kernel[(1,)]'\n")), "no kernel is launched");
  EXPECT_EQ(text_rule("@triton.jit\ndef f(x):\n    f[(1,)](x)\n"), "no kernel is launched");
}

TEST(TextRule, AnyTextHasAnAnswer) {
  for (const char* text :
       {"@", "\"", "'''", "def", "@triton.jit\ndef", "@triton.jit\n def f", "\\", "'\\", ".", "a.",
        "@triton.jit\ndef f(:\n\n\n", "1.", "@triton.jit def f"}) {
    EXPECT_FALSE(text_rule(text).empty()) << text;
  }
}

}  // namespace
}  // namespace kw
