// tokenizer.json files, and what such a tokenizer makes of a text.
#include "formats/tokens/tokenizer.h"

#include "fuzz.h"

namespace kw {
namespace {

void check(std::string_view text) {
  const auto tokenizer = parsed([&] { return Tokenizer(text, "fuzz"); });
  if (!tokenizer) return;
  for (const char* words : {"", "Hello  wor\u00e9ld 123\n\t'll <|end|>", "\u212b \u0301x"}) {
    // A pattern may take too long, as one that goes back and back.
    const auto ids = parsed([&] { return tokenizer->encode(words); });
    if (!ids) continue;
    for (const TokenId id : *ids) {
      must(id >= 0 && id < tokenizer->size(), "tokens are of the vocabulary");
    }
    tokenizer->decode(*ids);
  }
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
