#include "formats/special_tokens.h"

#include "formats/error.h"
#include "formats/json.h"
#include "formats/tokenizer.h"

namespace kw {

std::string with_special_tokens(const std::string& json, const std::string& name,
                                const std::vector<std::string>& tokens, int64_t rows) {
  const Tokenizer before(json, name);
  Json whole;
  int64_t next = before.size();
  for (const std::string& token : tokens) {
    if (before.find_added(token)) continue;
    if (next >= rows) {
      throw InputError(name + " has no " + token +
                       ", and the model has no row for it: " + std::to_string(before.size()) +
                       " tokens, " + std::to_string(rows) + " rows of embeddings");
    }
    if (whole.is_null()) whole = parse_json(json, name);
    whole["added_tokens"].push_back({{"id", next++},
                                     {"content", token},
                                     {"single_word", false},
                                     {"lstrip", false},
                                     {"rstrip", false},
                                     {"normalized", false},
                                     {"special", true}});
  }
  return whole.is_null() ? json : whole.dump();
}

}  // namespace kw
