// Special tokens that a tokenizer.json lacks, written into it. Torch-free; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The text with those of `tokens` that it lacks as special tokens behind its last one, as Hugging
// Face's tokenizers read them; the same text where it lacks none. `rows`: of the embedding that the
// ids are for, which models often have more of than tokens. `name`: for messages. InputError where
// the text is no tokenizer, or no row is left.
std::string with_special_tokens(const std::string& json, const std::string& name,
                                const std::vector<std::string>& tokens, int64_t rows);

}  // namespace kw
