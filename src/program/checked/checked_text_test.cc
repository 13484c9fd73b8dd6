#include "program/checked/checked_text.h"

#include <gtest/gtest.h>

#include <string>

#include "formats/base/error.h"

namespace kw {
namespace {

TEST(CheckedText, ReferencesNameNoOtherEncoding) {
  for (const char* text :
       {"", "x = 1", "# coding: utf-8\n", "#!/bin/python\n# -*- coding: UTF_8 -*-\n",
        "# vim: set fileencoding=utf8 :\r\n", "\xEF\xBB\xBFx = 1\n", "x = 1\n\n# coding: latin-1\n",
        "# encoding of the input: see below\n", "x = 'coding: latin-1'\n", "# caf\xC3\xA9\n",
        "# coding:\n", "\f\n"}) {
    EXPECT_NO_THROW(check_reference(text)) << text;
  }
  for (const char* text :
       {"# coding: latin-1\n", "#!/bin/python\n# -*- coding: cp1252 -*-\n", "# coding=utf-7",
        "\xEF\xBB\xBF# coding: latin-1\n", "\n \t\f# vim: fileencoding=utf-16\n",
        "# x\r# coding: latin-1\n", "# x\r\n# coding: latin-1\r\n", "# coding:: coding: utf-7\n",
        "caf\xE9", "# utf-8 coding:utf-8x\n"}) {
    EXPECT_THROW(check_reference(text), InputError) << text;
  }
  EXPECT_THROW(check_reference(std::string_view("x\0y", 3)), InputError);
}

TEST(CheckedText, SlicesHaveNoControlCharacters) {
  EXPECT_NO_THROW(check_slice("@triton.jit\ndef k():\n\tpass  # caf\xC3\xA9\n"));
  for (const char* text : {"# x\rimport os\n", "\f", "\x1b[2J", "\x7f", "caf\xE9", "\v", "\b"}) {
    EXPECT_THROW(check_slice(text), InputError) << text;
  }
  EXPECT_THROW(check_slice(std::string_view("\0", 1)), InputError);
}

}  // namespace
}  // namespace kw
