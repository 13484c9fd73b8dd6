// SHA-256 (FIPS 180-4), for content addresses.
#pragma once

#include <string>
#include <string_view>

namespace kw {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace kw
