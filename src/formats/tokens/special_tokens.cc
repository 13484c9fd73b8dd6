#include "formats/tokens/special_tokens.h"

#include "formats/base/error.h"
#include "formats/json.h"
#include "formats/tokens/tokenizer.h"

namespace kw {

std::string with_special_tokens(const std::string& json, const std::string& name,
                                const std::vector<std::string>& tokens, int64_t rows) {
  const Tokenizer before(json, name);
  Json whole;
  int64_t next = before.size();
  for (const std::string& token : tokens) {
    if (before.find_added(token)) continue;
    if (whole.is_null()) {
      whole = parse_json(json, name);
      // Hugging Face's tokenizers number what is added by how many tokens there are.
      for (TokenId id = 0; id < before.size(); ++id) {
        if (!before.bytes(id).empty()) continue;
        throw InputError(name + " has no " + token +
                         ", and cannot be given one: there is no token " + std::to_string(id) +
                         ", and it has larger ones");
      }
    }
    const Json& vocabulary = whole["model"]["vocab"];
    const auto known = vocabulary.find(token);  // a word of its own, but not a special one
    const int64_t id = known == vocabulary.end() ? next : known->get<int64_t>();
    if (id >= rows) {
      throw InputError(name + " has no " + token +
                       ", and the model has no row for it: " + std::to_string(before.size()) +
                       " tokens, " + std::to_string(rows) + " rows of embeddings");
    }
    next += known == vocabulary.end();
    whole["added_tokens"].push_back({{"id", id},
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
