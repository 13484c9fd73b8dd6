// Special tokens that a tokenizer.json lacks, written into it. Torch-free; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// Returns the text of a tokenizer with the missing ones of `tokens` added as special tokens after
// its last token, as Hugging Face's tokenizers read them. If none is missing, the text stays the
// same. `rows`: of the embedding for these ids, of which a model often has more than tokens.
// `name`: for messages. Throws InputError if the text is no tokenizer, or if no row is left.
std::string with_special_tokens(const std::string& json, const std::string& name,
                                const std::vector<std::string>& tokens, int64_t rows);

}  // namespace kw
