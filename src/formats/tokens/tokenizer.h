// Byte-level BPE (Sennrich, Haddow and Birch, arXiv:1508.07909) as the files of Hugging Face's
// tokenizers describe it, for GPT-2, Llama 3, Qwen2 and Qwen3.
//
// Special tokens are cut out first. The rest is normalised (NFC or not at all) and split by a
// regular expression. In each piece bytes are joined, the pair of the lowest rank first. A file is
// hostile input, and what is not supported in it is refused by name. Immutable once made: any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kw {

using TokenId = int32_t;

class Tokenizer {
 public:
  // The text of a tokenizer.json; `name` for messages. InputError.
  Tokenizer(std::string_view json, const std::string& name);

  // Whether what reads like a special token in the text is one. Text of strangers must not end
  // their turn.
  enum class Specials { kTokens, kText };
  // InputError where the text is not UTF-8.
  std::vector<TokenId> encode(std::string_view text, Specials specials = Specials::kTokens) const;
  // What merges work within, in order: the text without its special tokens, normalised and split.
  // The pieces last for the call. InputError where the text is not UTF-8.
  void split(std::string_view text, const std::function<void(std::string_view)>& take,
             Specials specials = Specials::kTokens) const;
  // The bytes of the tokens, which may end within a character. Special tokens are left out unless
  // they are wanted.
  std::string decode(std::span<const TokenId> ids, Specials specials = Specials::kText) const;

  TokenId size() const { return static_cast<TokenId>(tokens_.size()); }  // ids are below it
  std::string_view bytes(TokenId id) const { return tokens_.at(id).bytes; }
  bool is_special(TokenId id) const { return tokens_.at(id).special; }
  // Of a token outside of the merges, such as "<|im_end|>".
  std::optional<TokenId> find_added(std::string_view text) const;

 private:
  struct Token {
    std::string bytes;
    bool special = false;
  };
  struct Added {
    std::string text;
    TokenId id;
  };
  struct Merge {
    int32_t rank;
    TokenId joined;
  };
  struct Pattern;  // a compiled regular expression
  struct Split {
    std::shared_ptr<const Pattern> pattern;
    bool keep_between = true;  // what no match covers is a piece as well
  };
  friend class TokenizerReader;

  template <class OfText, class OfSpecial>
  void cut_specials(std::string_view text, Specials specials, OfText of_text,
                    OfSpecial of_special) const;
  template <class Take>
  void split_text(std::string_view text, const Take& take) const;
  void encode_piece(std::string_view piece, std::vector<TokenId>& out) const;
  const Added* added_at(std::string_view text, size_t at) const;

  std::vector<Token> tokens_;  // by id
  std::unordered_map<std::string, TokenId> ids_;
  std::unordered_map<uint64_t, Merge> merges_;  // by the pair of tokens
  std::vector<Added> added_;                    // the longest first
  std::vector<bool> added_starts_;              // by byte
  std::vector<Split> splits_;
  bool nfc_ = false;
  bool prefix_space_ = false;
  bool whole_pieces_ = false;  // a piece that is a token is not made of merges
  TokenId of_byte_[256] = {};
};

}  // namespace kw
