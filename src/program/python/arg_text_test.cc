#include "program/python/arg_text.h"

#include <gtest/gtest.h>

#include "program/python/python_text.h"

namespace kw {
namespace {

TEST(ArgText, PythonAndReadersSpellTheSameArgument) {
  const auto value = [](ValueId id) { return "t" + std::to_string(id); };
  const ArgSpelling python = {value, python_float, python_string, "torch.", "_kw_device"};
  const ArgSpelling readers = {value, [](double) { return std::string("about 2"); },
                               [](const std::string& text) { return "'" + text + "'"; }, ""};
  const struct {
    Arg arg;
    std::string python, readers;
  } rows[] = {{{}, "None", "None"},
              {{true}, "True", "True"},
              {{int64_t{-3}}, "-3", "-3"},
              {{2.0}, "2.0", "about 2"},
              {{std::string("mean")}, "\"mean\"", "'mean'"},
              {{ValueRef{4}}, "t4", "t4"},
              {{DType::kFloat16}, "torch.float16", "float16"},
              {{DeviceArg{}}, "_kw_device", "\"cuda\""},
              {{LayoutArg{"strided"}}, "torch.strided", "strided"},
              {{MemoryFormatArg{"channels_last"}}, "torch.channels_last", "channels_last"},
              {{ArgList{}}, "[]", "[]"},
              {{ArgList{{ValueRef{1}}, {int64_t{2}}}}, "[t1, 2]", "[t1, 2]"}};
  for (const auto& row : rows) {
    EXPECT_EQ(arg_text(row.arg, python), row.python);
    EXPECT_EQ(arg_text(row.arg, readers), row.readers);
  }
}

}  // namespace
}  // namespace kw
