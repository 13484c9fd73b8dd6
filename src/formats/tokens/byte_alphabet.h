// How the files of byte-level tokenizers spell bytes, as GPT-2 did first. A printable byte is
// spelled as itself. The others, in order, are the characters from 256 on, so that a space is "Ġ".
// Pure functions: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kw {

std::string spelled(std::string_view bytes);
// The bytes that a text in that alphabet stands for; nothing where it is not in it.
std::optional<std::string> bytes_of(std::string_view text);

}  // namespace kw
