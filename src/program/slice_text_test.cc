#include "program/slice_text.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

// A slice of a kernel `name` that calls a helper and uses a constant.
Kernel kernel(const std::string& name, const std::string& helper, const std::string& constant) {
  Kernel out;
  out.name = name;
  out.params = {{"x", "*fp32"}, {"BLOCK", "constexpr"}};
  out.source = "import triton\nimport triton.language as tl\nEPS = tl.constexpr(" + constant +
               ")\n\n\n@triton.jit\ndef act(x):\n    return " + helper + "\n\n\n@triton.jit\ndef " +
               name + "(x, BLOCK: tl.constexpr):\n" + "    tl.store(x, act(tl.load(x)) + EPS)\n";
  return out;
}

TEST(SliceText, IsTakenApart) {
  const Kernel k = kernel("k0", "x * x", "1e-05");
  const SliceText slice = take_apart(k.source);
  EXPECT_EQ(slice.header, (std::vector<std::string>{"import triton", "import triton.language as tl",
                                                    "EPS = tl.constexpr(1e-05)"}));
  ASSERT_EQ(slice.functions.size(), 2u);
  EXPECT_EQ(slice.functions[0], "@triton.jit\ndef act(x):\n    return x * x\n");
  const auto defined = definitions(slice);
  ASSERT_EQ(defined.size(), 3u);
  EXPECT_EQ(defined.at("EPS"), "EPS = tl.constexpr(1e-05)");
  EXPECT_EQ(defined.at("act"), slice.functions[0]);
  EXPECT_EQ(defined.at("k0"), slice.functions[1]);
}

TEST(SliceText, NamesAreWordsOfTheSlicesOwn) {
  const std::map<std::string, std::string> names = {{"n", "N"}, {"f", "F"}};
  const auto in_body = [&](const std::string& line) {
    const std::string head = "@triton.jit\ndef k(a, b: tl.constexpr = 1):\n    ";
    const std::string out = with_names(head + line + "\n", names);
    EXPECT_EQ(out.substr(0, head.size()), head);
    return out.substr(head.size(), out.size() - head.size() - 1);
  };
  EXPECT_EQ(in_body("n = f(n) + nn - _n + n1"), "N = F(N) + nn - _n + n1");
  EXPECT_EQ(in_body("x = a.n + a. f(n)"), "x = a.n + a. f(N)");
  EXPECT_EQ(in_body("x = f(n=n, f = f(n) == n)"), "x = F(n=N, f = F(N) == N)");
  EXPECT_EQ(in_body("x = 'n' + \"f \\\" n\" + n  # don't n"),
            "x = 'n' + \"f \\\" n\" + N  # don't n");
  EXPECT_EQ(in_body("\"\"\"n 'n' \" n\"\"\"; n"), "\"\"\"n 'n' \" n\"\"\"; N");
  // A parameter hides what is outside.
  const std::string f = "@triton.jit\ndef f(x, n: tl.constexpr):\n    return x + n\n";
  EXPECT_EQ(with_names("n = tl.constexpr(1)\n\n\n" + f, names),
            "N = tl.constexpr(1)\n\n\n@triton.jit\ndef F(x, n: tl.constexpr):\n    return x + n\n");
}

TEST(SliceText, KernelsThatMeanTheSameShareIt) {
  std::vector<Kernel> kernels = {kernel("k0", "x * x", "1"), kernel("k1", "x * x", "1"),
                                 kernel("k0", "x * x", "1")};
  const std::vector<Kernel> before = kernels;
  name_apart(kernels);
  EXPECT_EQ(kernels, before);
}

TEST(SliceText, KernelsThatMeanSomethingElseAreNamedApart) {
  std::vector<Kernel> kernels = {kernel("k0", "x * x", "1"), kernel("k1", "x * x", "2"),
                                 kernel("k1", "x + x", "1"), kernel("k3", "x + x", "1")};
  kernels[1].compiled = Compiled{.arch = "sm_90", .symbol = "k1"};
  kernels[2].constexprs = {{"1", {{"tuple", {{{"function", "act"}}, 3}}}}};
  name_apart(kernels);
  EXPECT_EQ(kernels[0], kernel("k0", "x * x", "1"));
  EXPECT_EQ(kernels[1].name, "v2_k1");
  EXPECT_EQ(kernels[1].source,
            "import triton\nimport triton.language as tl\nv2_EPS = tl.constexpr(2)\n\n\n"
            "@triton.jit\ndef v2_act(x):\n    return x * x\n\n\n"
            "@triton.jit\ndef v2_k1(x, BLOCK: tl.constexpr):\n"
            "    tl.store(x, v2_act(tl.load(x)) + v2_EPS)\n");
  EXPECT_EQ(kernels[1].compiled->symbol, "k1");
  EXPECT_EQ(kernels[2].name, "v3_k1");
  EXPECT_EQ(kernels[2].constexprs["1"]["tuple"][0]["function"], "v3_act");
  // Its helper and constant are those of the one before.
  EXPECT_EQ(kernels[3].name, "v3_k3");
  std::map<std::string, std::string> known;
  for (const Kernel& k : kernels) {
    for (const auto& [name, text] : definitions(take_apart(k.source))) {
      EXPECT_EQ(known.emplace(name, text).first->second, text);
    }
  }
}

}  // namespace
}  // namespace kw
