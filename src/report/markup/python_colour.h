// Python source as coloured HTML.
#pragma once

#include <string_view>

#include "report/markup/markup.h"

namespace kw {

// Writes `source` with spans of class k (keyword), s (string), c (comment), n (number),
// d (decorator) and f (name being defined). The text between the tags is clean_text(source);
// unterminated strings and anything else that is not Python are shown all the same.
void write_python(Markup& out, std::string_view source);

}  // namespace kw
