#include "program/checked/slice_text.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw {
namespace {

TEST(SliceText, IsTakenApart) {
  const SliceText slice = take_apart(
      "import triton\nimport triton.language as tl\nfrom triton.language import exp as e\n"
      "EPS = tl.constexpr(1e-05)\n\n\n"
      "@triton.jit\ndef act(x):\n    return x * x\n\n\n"
      "@triton.jit\ndef k0(x, BLOCK: tl.constexpr):\n    tl.store(x, act(tl.load(x)) + EPS)\n");
  EXPECT_EQ(slice.imports.size(), 3u);
  EXPECT_EQ(slice.constants.size(), 1u);
  ASSERT_EQ(slice.functions.size(), 2u);
  EXPECT_EQ(slice.functions[0].name, "act");
  EXPECT_EQ(slice.functions[0].text, "@triton.jit\ndef act(x):\n    return x * x\n");
  EXPECT_EQ(slice.functions[1].name, "k0");
  EXPECT_EQ(slice.functions[1].parameters, (std::set<std::string>{"x", "BLOCK"}));
  const std::map<std::string, std::string> expected = {
      {"triton", "import triton\n"},
      {"tl", "import triton.language as tl\n"},
      {"e", "from triton.language import exp as e\n"},
      {"EPS", "EPS = tl.constexpr(1e-05)\n"},
      {"act", slice.functions[0].text},
      {"k0", slice.functions[1].text}};
  EXPECT_EQ(definitions(slice), expected);
}

// Triton's library of functions in its own language has private ones, which kernels call.
TEST(SliceText, FunctionsOfTritonsLibraryMayBePrivate) {
  const SliceText slice = take_apart(
      "from triton.language.standard import _log2\nimport triton\n\n\n"
      "@triton.jit\ndef k(x):\n    tl.store(x, _log2(tl.load(x)))\n");
  EXPECT_EQ(definitions(slice).count("_log2"), 1u);
}

// Text in a string may look like the start of a function. Any blanks may come before a name.
TEST(SliceText, FunctionsMayBeLaidOutInAnyWay) {
  const std::string odd =
      "@triton.jit\ndef  a (x):\n    r\"\"\"Like\n\n@triton.jit\ndef b(x): ...\n\\\"\"\"\"\n"
      "    y = 'it\\'s \\\n@'  # don't\n    return x\n";
  const std::string next = "@triton.jit\ndef\tc\\\n(x):\n    return x\n";
  const SliceText slice = take_apart("import triton\n\n\n" + odd + "\n\n" + next);
  ASSERT_EQ(slice.functions.size(), 2u);
  EXPECT_EQ(slice.functions[0].name, "a");
  EXPECT_EQ(slice.functions[0].text, odd);
  EXPECT_EQ(slice.functions[1].name, "c");
  EXPECT_EQ(slice.functions[1].text, next);
}

TEST(SliceText, OddTextIsRefused) {
  for (const char* text : {"", "#", "\n\n", "# x\n"}) {
    EXPECT_TRUE(take_apart(text).functions.empty()) << text;
  }
  EXPECT_THROW(take_apart("@triton.jit\n"), InputError);
  EXPECT_THROW(take_apart("@"), InputError);
  EXPECT_THROW(take_apart("@triton.jit\ndef"), InputError);
  for (const char* text : {"'", "\"\"\"", "\\", "x = 'a\\", "def", "@triton.jit\n    x\n"}) {
    EXPECT_THROW(take_apart(text), InputError) << text;
  }
}

const std::string kKernel = "@triton.jit\ndef k(x):\n    return x\n";

TEST(SliceText, TheSlicersStatementsAreKnown) {
  for (const char* head :
       {"import triton", "import triton as t", "import triton.language as tl",
        "from triton import language", "from triton import cdiv as c",
        "from triton.language import exp", "from triton.language.extra import libdevice as l",
        "from triton.language.extra.cuda import libdevice",
        "from triton.language.math import rsqrt", "import triton.language.extra.libdevice as l",
        "A = tl.float32", "A = tl.constexpr(None)", "A = tl.constexpr(-1.5e-05)",
        "A = tl.constexpr('a\\'b')", "A = tl.constexpr(float(\"-inf\"))"}) {
    const SliceText slice = take_apart(std::string(head) + "\n\n\n" + kKernel);
    EXPECT_EQ(slice.imports.size() + slice.constants.size(), 1u) << head;
  }
  for (const char* header : {"k(x, n: tl.constexpr = 3, *, b=(1, -2.0), c=[], d='x') -> tl.tensor",
                             "k()", "k(x=float('inf'),\n  # why\n  y: 'i32' = None)"}) {
    const SliceText slice = take_apart("@triton.jit\ndef " + std::string(header) + ":\n    pass\n");
    ASSERT_EQ(slice.functions.size(), 1u) << header;
    EXPECT_FALSE(slice.functions[0].parameters.contains("tl")) << header;
  }
}

// All of these would run, or mean something else, where the module is loaded.
TEST(SliceText, WhatWouldRunIsRefused) {
  for (const char* text : {"import os",
                           "import tri ton",
                           "import triton.language",
                           "import triton, os",
                           "import triton as t; import os",
                           "from os import system",
                           "from triton import knobs",
                           "from triton.language import *",
                           "from triton.language import _x",
                           "from . import x",
                           "from as import x",
                           "import",
                           "from triton.language import (exp)",
                           "A = 1",
                           "A = tl.f()",
                           "A = tl.constexpr(f())",
                           "A = tl.constexpr(1 5)",
                           "A = tl.constexpr(f'{f()}')",
                           "A = tl.constexpr(1); f()",
                           "A = tl.constexpr(1)(2)",
                           "A = B = tl.float32",
                           "f()",

                           "if True:\n    f()",
                           "class A: pass",
                           "def f(): pass",
                           "\"text\"",
                           "del A",
                           "\\\nimport os",
                           "lambda = tl.float32",
                           "A = tl._x",
                           "A: f() = tl.float32"}) {
    EXPECT_THROW(take_apart(std::string(text) + "\n\n\n" + kKernel), InputError) << text;
    EXPECT_THROW(take_apart(kKernel + "\n\n" + text + "\n"), InputError) << text;
  }
  for (const char* header :
       {"k(x=f())", "k(x: f())", "k() -> f()", "k(x=f'{f()}')", "k(x=[f() for y in z])",
        "k(x=a[0])", "k(x=lambda: 1)", "k(x=float(f()))", "k(x=float)('inf')", "k[T: f()](x)",
        "k(x={})", "k(x=a @ b)", "k(x: a > b)", "k(x=1 if a else b)", "k(x=(f)(1))",
        "k(x='a'.join(b))", "k", "lambda(x)", "__k(x)"}) {
    EXPECT_THROW(take_apart("@triton.jit\ndef " + std::string(header) + ":\n    pass\n"),
                 InputError)
        << header;
  }
  for (const char* decorators : {"@f", "@triton.jit()", "@triton.jit\n@f", "@f\n@triton.jit",
                                 "@triton.jit(f())", "@triton\\\n.autotune"}) {
    EXPECT_THROW(take_apart(std::string(decorators) + "\ndef k(x):\n    pass\n"), InputError)
        << decorators;
  }
}

TEST(SliceText, NamesAreThoseOfCode) {
  EXPECT_EQ(
      names_in("import a.b as c\nd = 'e' + f\"g\" + self.h. i(j=1) # k\n\"\"\"l\n'm'\"\"\"\n"),
      (std::set<std::string>{"import", "a", "as", "c", "d", "f", "self", "j", "1"}));
}

}  // namespace
}  // namespace kw
