// What text may be copied into optimized.py as it is: the reference's, and the slices of kernels.
// Pure functions that throw InputError.
#pragma once

#include <string_view>

namespace kw {

// Throws unless `text` is UTF-8 without NUL, and its first two lines name no other encoding (PEP
// 263): Python would read what follows in that one.
void check_reference(std::string_view text);

// Throws unless `text` is UTF-8 without control characters other than tab and newline. Some of
// them end a line or an indentation for Python, and for no reader.
void check_slice(std::string_view text);

}  // namespace kw
