#include "policy/text_rule.h"

#include <gtest/gtest.h>

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

std::string with(const std::string& body) {
  return std::string(kKernel) + "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n" +
         body;
}

TEST(TextRule, KernelsThatAreLaunchedPass) {
  EXPECT_EQ(text_rule(with("        out = torch.empty_like(x)\n"
                           "        relu_kernel[(4,)](x, out, x.numel(), BLOCK=64)\n"
                           "        return out.view(-1)  # not torch.relu(x)\n")),
            "");
  EXPECT_EQ(
      text_rule(with("        '''torch.softmax(x) @ x'''\n        out = torch.empty(3)\n"
                     "        relu_kernel [(4,)](x, out)\n        return math.exp(1.) + out\n")),
      "");
}

TEST(TextRule, WhatPyTorchComputesBreaksIt) {
  const std::string launch = "        relu_kernel[(4,)](x, x)\n";
  EXPECT_EQ(text_rule(with(launch + "        return torch.relu(x)\n")),
            "PyTorch is called: torch.relu");
  EXPECT_EQ(text_rule(with(launch + "        return F.softmax (x)\n")),
            "PyTorch is called: F.softmax");
  EXPECT_EQ(text_rule(with(launch + "        return torch.nn.functional.conv2d(x, x)\n")),
            "PyTorch is called: torch.nn.functional.conv2d");
  EXPECT_EQ(text_rule(with(launch + "        return x.view(-1).add_(1)\n")),
            "PyTorch is called: .add_");
  EXPECT_EQ(text_rule(with(launch + "        return x @ x\n")), "PyTorch multiplies by @");
}

TEST(TextRule, KernelsMustBeThereAndLaunched) {
  EXPECT_EQ(text_rule(""), "there is no function with @triton.jit");
  EXPECT_EQ(text_rule("# @triton.jit\ndef f():\n    pass\n"),
            "there is no function with @triton.jit");
  EXPECT_EQ(text_rule("@triton.jit\nclass A: pass\ndef f(): pass\n"),
            "there is no function with @triton.jit");
  EXPECT_EQ(text_rule(with("        return x\n")), "no kernel is launched");
  // In another kernel, or in a text, it is no launch.
  EXPECT_EQ(text_rule(with("        return 'relu_kernel[(1,)]'\n")), "no kernel is launched");
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
