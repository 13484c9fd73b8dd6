#include "program/python/slice_text.h"

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
  const std::map<std::string, std::string> expected = {
      {"triton", "import triton\n"},
      {"tl", "import triton.language as tl\n"},
      {"e", "from triton.language import exp as e\n"},
      {"EPS", "EPS = tl.constexpr(1e-05)\n"},
      {"act", slice.functions[0].text},
      {"k0", slice.functions[1].text}};
  EXPECT_EQ(definitions(slice), expected);
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

TEST(SliceText, OddTextIsRefusedOrTakenAsItIs) {
  EXPECT_TRUE(take_apart("").functions.empty());
  EXPECT_THROW(take_apart("@triton.jit\n"), InputError);
  EXPECT_THROW(take_apart("@"), InputError);
  EXPECT_THROW(take_apart("@triton.jit\ndef"), InputError);
  for (const char* text : {"'", "\"\"\"", "\\", "x = 'a\\", "#", "def", "\n\n"}) {
    EXPECT_TRUE(take_apart(text).functions.empty()) << text;
  }
}

TEST(SliceText, NamesAreThoseOfCode) {
  EXPECT_EQ(
      names_in("import a.b as c\nd = 'e' + f\"g\" + self.h. i(j=1) # k\n\"\"\"l\n'm'\"\"\"\n"),
      (std::set<std::string>{"import", "a", "as", "c", "d", "f", "self", "j", "1"}));
}

}  // namespace
}  // namespace kw
