#include "program/checked/slice_writer.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw {
namespace {

const std::string kImports = "import triton\nimport triton.language as tl\n";

std::string helper(const std::string& value) {
  return "@triton.jit\ndef act(x):\n    return " + value + "\n";
}

// A slice of a kernel `name` that calls a helper and uses a constant.
Kernel kernel(const std::string& name, const std::string& value, const std::string& constant) {
  Kernel out;
  out.name = name;
  out.source = kImports + "EPS = tl.constexpr(" + constant + ")\n\n\n" + helper(value) +
               "\n\n@triton.jit\ndef " + name + "(x):\n    tl.store(x, act(tl.load(x)) + EPS)\n";
  return out;
}

std::string called(SliceWriter& writer, Kernel kernel) {
  writer.add(kernel);
  return kernel.name;
}

size_t count(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST(SliceWriter, KernelsThatMeanTheSameShareIt) {
  SliceWriter writer("import torch\n");
  EXPECT_EQ(called(writer, kernel("k0", "x * x", "1")), "k0");
  EXPECT_EQ(called(writer, kernel("k1", "x * x", "1")), "k1");
  EXPECT_EQ(called(writer, kernel("k0", "x * x", "1")), "k0");
  const std::string text = writer.text();
  // A constant needs the imports.
  EXPECT_TRUE(text.starts_with(kImports + "EPS = tl.constexpr(1)\n\n\n" + helper("x * x"))) << text;
  EXPECT_EQ(count(text, "def act("), 1u) << text;
  EXPECT_EQ(count(text, "def k0("), 1u) << text;
}

TEST(SliceWriter, KernelsThatMeanSomethingElseStandApart) {
  SliceWriter writer("import torch\n");
  EXPECT_EQ(called(writer, kernel("k0", "x * x", "1")), "k0");
  EXPECT_EQ(called(writer, kernel("k1", "x * x", "2")), "_kw_1_k1");  // another constant
  EXPECT_EQ(called(writer, kernel("k2", "x + x", "1")), "_kw_2_k2");  // another helper
  EXPECT_EQ(called(writer, kernel("act", "x", "1")), "_kw_3_act");    // another kernel
  EXPECT_EQ(called(writer, kernel("k1", "x * x", "2")), "_kw_1_k1");  // the same again
  Kernel takes_function = kernel("k2", "x + x", "1");
  takes_function.constexprs = {{"1", {{"tuple", {{{"function", "act"}}, 3}}}}};
  writer.add(takes_function);
  EXPECT_EQ(takes_function.constexprs["1"]["tuple"][0]["function"], "_kw_2_act");
  EXPECT_NE(writer.text().find("def _kw_slice_1():\n    import triton\n"
                               "    import triton.language as tl\n    EPS = tl.constexpr(2)\n\n"
                               "    @triton.jit\n    def act(x):\n        return x * x\n\n"
                               "    @triton.jit\n    def k1(x):\n"
                               "        tl.store(x, act(tl.load(x)) + EPS)\n\n"
                               "    return (act, k1, )\n\n\n"
                               "(_kw_1_act, _kw_1_k1, ) = _kw_slice_1()\n"),
            std::string::npos)
      << writer.text();
}

TEST(SliceWriter, ImportsMeanSomethingToo) {
  SliceWriter writer("");
  Kernel a = kernel("k0", "x", "1"), b = kernel("k1", "x", "1"), c = kernel("exp", "x", "1");
  a.source = "from triton.language import exp\n" + a.source;
  b.source = "from triton.language.extra.libdevice import exp\n" + b.source;
  EXPECT_EQ(called(writer, a), "k0");
  EXPECT_EQ(called(writer, b), "_kw_1_k1");
  EXPECT_EQ(called(writer, c), "_kw_2_exp");
}

// The module's text before the slices keeps its meaning.
TEST(SliceWriter, TheModulesOwnNamesStay) {
  const auto in = [](const std::string& before) {
    SliceWriter writer(before);
    return called(writer, kernel("k0", "x * x", "1"));
  };
  EXPECT_EQ(in("import torch\n"), "k0");
  EXPECT_EQ(in("def act(x):\n    return x\n"), "_kw_1_k0");
  EXPECT_EQ(in("EPS = 1e-5\n"), "_kw_1_k0");
  EXPECT_EQ(in("for k0 in range(3): pass\n"), "_kw_1_k0");
  EXPECT_EQ(in("from tools import triton\n"), "_kw_1_k0");
  EXPECT_EQ(in("# act, EPS, k0\nx = self.act('EPS')\n"), "k0");
  // One of the model's own may have decorators that the slice has not.
  EXPECT_EQ(in("@triton.autotune([], [])\n" + helper("x * x")), "_kw_1_k0");
  EXPECT_EQ(in(kImports + "x = tl.float32\n"), "k0");
  // Nor do kernels take names of what is written behind them.
  for (const char* name :
       {"ModelNew", "torch", "_kw_matches", "super", "t0", "x_", "\xEF\xBD\x94orch"}) {
    SliceWriter writer("");
    EXPECT_TRUE(called(writer, kernel(name, "x", "1")).starts_with("_kw_1_")) << name;
  }
}

TEST(SliceWriter, ASourceWithoutItsKernelIsRefused) {
  SliceWriter writer("");
  Kernel none = kernel("k0", "x", "1");
  none.name = "k1";
  EXPECT_THROW(writer.add(none), InputError);
  for (const char* name : {"tl", "EPS"}) {  // defined, but no function
    none.name = name;
    EXPECT_THROW(writer.add(none), InputError) << name;
  }
  Kernel parameter = kernel("k0", "x", "1");
  parameter.params = {{"x", "*fp32"}, {"y.0", "i32"}};
  EXPECT_THROW(writer.add(parameter), InputError);
  Kernel constant = kernel("k0", "x", "1");
  constant.constexprs = {{"0", {{"tuple", {{{"function", "print"}}}}}}};
  EXPECT_THROW(writer.add(constant), InputError);
}

}  // namespace
}  // namespace kw
