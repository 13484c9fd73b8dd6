#include "formats/tokens/byte_alphabet.h"

#include <utf8proc.h>

#include <array>
#include <unordered_map>

namespace kw {
namespace {

const std::array<char32_t, 256>& alphabet() {
  static const std::array<char32_t, 256> made = [] {
    std::array<char32_t, 256> out{};
    char32_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
      out[byte] = printable ? static_cast<char32_t>(byte) : next++;
    }
    return out;
  }();
  return made;
}

}  // namespace

std::string spelled(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const char32_t character = alphabet()[static_cast<unsigned char>(byte)];
    utf8proc_uint8_t text[4];
    const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), text);
    out.append(reinterpret_cast<const char*>(text), static_cast<size_t>(length));
  }
  return out;
}

std::optional<std::string> bytes_of(std::string_view text) {
  static const std::unordered_map<char32_t, char> known = [] {
    std::unordered_map<char32_t, char> out;
    for (int byte = 0; byte < 256; ++byte) out[alphabet()[byte]] = static_cast<char>(byte);
    return out;
  }();
  std::string out;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t character = 0;
    const auto length =
        utf8proc_iterate(at + i, static_cast<utf8proc_ssize_t>(text.size() - i), &character);
    if (length <= 0) return std::nullopt;
    const auto found = known.find(static_cast<char32_t>(character));
    if (found == known.end()) return std::nullopt;
    out += found->second;
    i += static_cast<size_t>(length);
  }
  return out;
}

}  // namespace kw
