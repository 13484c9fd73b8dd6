#include "verify/verdict/tree_text.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

std::string shown(const char* tree) { return tree_text(Json::parse(tree)); }

TEST(TreeText, IsAsPeopleWriteIt) {
  EXPECT_EQ(shown(R"({"out": 0})"), "output 0");
  EXPECT_EQ(shown(R"({"tuple": [{"out": 0}]})"), "(output 0,)");
  EXPECT_EQ(shown(R"({"tuple": [{"out": 0}, {"list": [1, 2.5, true, null, "a"]}]})"),
            "(output 0, [1, 2.5, True, None, \"a\"])");
  EXPECT_EQ(shown(R"({"list": []})"), "[]");
  EXPECT_EQ(shown(R"({"dict": [["a", {"out": 1}], ["b", {"f": "inf"}]]})"),
            "{\"a\": output 1, \"b\": inf}");
  EXPECT_EQ(shown(R"({"object": {"type": "Pair", "kind": "tuple", "fields": {"x": {"out": 0}}}})"),
            "Pair(x=output 0)");
}

}  // namespace
}  // namespace kw
