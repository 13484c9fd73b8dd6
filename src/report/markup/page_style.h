// The style sheet of the report: light and dark, screen and paper.
#pragma once

#include <string_view>

namespace kw {

extern const std::string_view kPageStyle;

}  // namespace kw
