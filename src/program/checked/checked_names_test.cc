#include "program/checked/checked_names.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw {
namespace {

// What would end a name, a string or a statement.
const char* const kForged[] = {"",       " ",    "a b",        "a;b", "a\nb",    "a=b",  "a(b)",
                               "a.b",    "a[0]", "a#",         "\"",  "'",       "\\",   "1a",
                               "lambda", "None", "__import__", "__x", "caf\xE9", "a\x01"};

TEST(CheckedNames, WordsAreOneWord) {
  for (const char* text : kForged) EXPECT_FALSE(is_word(text)) << text;
  EXPECT_FALSE(is_word(std::string(300, 'a')));
  EXPECT_FALSE(is_word(std::string_view("a\0b", 3)));
  for (const char* text : {"x", "_x", "x_1", "out0_ptr", "caf\xC3\xA9", "match", "print"}) {
    EXPECT_TRUE(is_word(text)) << text;
    EXPECT_EQ(checked_keyword(text), text);
  }
}

TEST(CheckedNames, ClassesAreNoBuiltins) {
  for (const char* text : kForged) EXPECT_THROW(checked_class(text), InputError) << text;
  for (const char* text :
       {"exec", "print", "open", "torch", "t0", "_kw_matches", "self", "x_", "caf\xC3\xA9"}) {
    EXPECT_THROW(checked_class(text), InputError) << text;
    EXPECT_THROW(checked_base(text), InputError) << text;
  }
  EXPECT_THROW(checked_class("ModelNew"), InputError) << "the text gives it another meaning";
  EXPECT_EQ(checked_base("ModelNew"), "ModelNew");
  for (const char* text : {"Model", "_Out", "Out1"}) {
    EXPECT_EQ(checked_class(text), text);
    EXPECT_EQ(checked_base(text), text);
  }
}

TEST(CheckedNames, KeywordsAreWords) {
  for (const char* text : kForged) EXPECT_THROW(checked_keyword(text), InputError) << text;
}

TEST(CheckedNames, TheWritersOwnNames) {
  for (const char* text :
       {"torch", "zip", "super", "p0", "q1", "t12", "x_", "_kw_device", "ModelNew"}) {
    EXPECT_TRUE(is_used_by_writer(text)) << text;
  }
  for (const char* text : {"", "p", "tl", "t0a", "r0", "kernel"}) {
    EXPECT_FALSE(is_used_by_writer(text)) << text;
  }
}

TEST(CheckedNames, OptionsAreTheListedOnes) {
  EXPECT_EQ(checked_option("num_warps", 8), "num_warps=8");
  EXPECT_EQ(checked_option("num_stages", 0), "num_stages=0");
  EXPECT_EQ(checked_option("maxnreg", 128), "maxnreg=128");
  EXPECT_EQ(checked_option("launch_pdl", true), "launch_pdl=True");
  EXPECT_EQ(checked_option("enable_fp_fusion", false), "enable_fp_fusion=False");
  const struct {
    const char* name;
    Json value;
  } refused[] = {{"num_warps", "4"},
                 {"num_warps", 0},
                 {"num_warps", 65},
                 {"num_warps", true},
                 {"num_warps", 4.0},
                 {"num_warps", nullptr},
                 {"num_ctas", 1ull << 63},
                 {"launch_pdl", 1},
                 {"launch_pdl", "True"},
                 {"debug", true},
                 {"grid", 1},
                 {"", 1},
                 {"num_warps=4, debug", 1},
                 {"num_warps\n", 4},
                 {"maxnreg", 5000},
                 {"num_stages", Json::array({1})}};
  for (const auto& row : refused) {
    EXPECT_THROW(checked_option(row.name, row.value), InputError) << row.name << row.value;
  }
}

TEST(CheckedNames, BlocksAreNumbers) {
  EXPECT_EQ(descriptor_block("tensordesc<fp32[16, 32]>"), "[16, 32]");
  EXPECT_EQ(descriptor_block("tensordesc<fp16[8]>"), "[8]");
  EXPECT_EQ(block_rank("[16, 32]"), 2u);
  EXPECT_EQ(block_rank("[8]"), 1u);
  for (const char* type :
       {"tensordesc<fp32[]>", "tensordesc<fp32[x]>", "tensordesc<fp32[1,]>", "tensordesc<fp32>",
        "tensordesc<fp32[0]>", "tensordesc<fp32[-1]>", "tensordesc<fp32[1][2]>", "*fp32[1]>",
        "tensordesc<fp32[print()]>", "tensordesc<fp32[1, 2, 3, 4, 5, 6]>", "tensordesc<fp32[01]>",
        "tensordesc<fp32[1]>, print()", "tensordesc<fp32[12345678]>", "tensordesc<fp32[1 2]>"}) {
    EXPECT_THROW(descriptor_block(type), InputError) << type;
  }
}

TEST(CheckedNames, LayoutsAreTorchs) {
  EXPECT_EQ(checked_layout({"strided"}), "strided");
  EXPECT_EQ(checked_memory_format({"channels_last"}), "channels_last");
  EXPECT_THROW(checked_layout({"load"}), InputError);
  EXPECT_THROW(checked_memory_format({"strided"}), InputError);
}

}  // namespace
}  // namespace kw
