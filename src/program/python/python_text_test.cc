#include "program/python/python_text.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw {
namespace {

TEST(PythonText, StringsAreAsciiWithEscapes) {
  EXPECT_EQ(python_string("tanh"), "\"tanh\"");
  EXPECT_EQ(python_string("a\"b\\c'd"), R"("a\"b\\c'd")");
  EXPECT_EQ(python_string("\n\r\t\x7f"), R"("\u000a\u000d\u0009\u007f")");
  EXPECT_EQ(python_string(std::string("\0", 1)), R"("\u0000")");
  // An accent, what some take for the end of a line, and what JSON would write as two characters.
  EXPECT_EQ(python_string("caf\xC3\xA9 \xE2\x80\xA8 \xF0\x9F\x99\x82"),
            R"("caf\u00e9 \u2028 \U0001f642")");
  EXPECT_THROW(python_string("caf\xE9"), InputError);
}

TEST(PythonText, LiteralsAreConstants) {
  const struct {
    Json json;
    std::string python;
  } rows[] = {{nullptr, "None"},
              {true, "True"},
              {-3, "-3"},
              {2.0, "2.0"},
              {"a\"", R"("a\"")"},
              {{{"dtype", "bf16"}}, "_kw_triton.language.bfloat16"},
              {{{"dtype", "int32"}}, "_kw_triton.language.int32"},
              {{{"dtype", "uint8"}}, "_kw_triton.language.uint8"},
              {{{"function", "act"}}, "act"},
              {{{"f", "-inf"}}, "float(\"-inf\")"},
              {{{"tuple", {1, {{"tuple", Json::array()}}}}}, "(1, (), )"}};
  for (const auto& row : rows) EXPECT_EQ(python_literal(row.json), row.python);
  const Json refused[] = {{{"dtype", "os"}},   {{"dtype", 3}}, {{"function", "f()"}},
                          {{"function", 3}},   {{"f", "f()"}}, {{"function", "lambda"}},
                          Json::array({1, 2}), Json::object(), {{"tuple", {{{"function", ""}}}}}};
  for (const Json& json : refused) EXPECT_THROW(python_literal(json), InputError) << json;
  EXPECT_EQ(special_float({{"f", "-inf"}}), "float(\"-inf\")");
  EXPECT_THROW(special_float({{"f", 3}}), InputError);
}

TEST(PythonText, PathsReachAttributesAlone) {
  const struct {
    const char *name, *python;
  } rows[] = {{"fc.weight", "self.fc.weight"},
              {"many[0][-1].w", "self.many[0][-1].w"},
              {"table[\"a\"].w", "self.table[\"a\"].w"},
              {"a.lambda", "getattr(self.a, \"lambda\")"},
              {"a[f()]", "getattr(self, \"a[f()]\")"},
              {"a[01]", "getattr(self, \"a[01]\")"},
              {"a[12345678901]", "getattr(self, \"a[12345678901]\")"},
              {"a b", "getattr(self, \"a b\")"},
              {"a\"\n", R"(getattr(self, "a\"\u000a"))"},
              {"caf\xC3\xA9", R"(getattr(self, "caf\u00e9"))"}};
  for (const auto& row : rows) EXPECT_EQ(attribute_path(row.name), row.python);
  EXPECT_THROW(attribute_path("__class__"), InputError);
  EXPECT_THROW(attribute_path("fc.__dict__.x"), InputError);
}

}  // namespace
}  // namespace kw
