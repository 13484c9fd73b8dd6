// Makes the tokenizer.json of a byte-level BPE (Sennrich, Haddow and Birch, arXiv:1508.07909) from
// a corpus of Python and Triton source. Tokenizer and Hugging Face's tokenizers read it. All 256
// bytes are tokens at first. Then, again and again, the most frequent pair of neighbours becomes a
// token.
//
// Digits are never joined with anything, so a number is read digit by digit. Listed numbers and
// words with digits (64, 1024, float32) are one token if they are not a part of a longer one.
// Merges would not do that: those of 1024 would join digits of 11024 too. So the file splits the
// text at the listed ones first, and has them as whole pieces ("ignore_merges").
//
// The result is the same on any machine, and does not depend on the order of the texts. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/tokens/tokenizer.h"

namespace kw {

// Identifiers and runs of punctuation, each with a space before it; single digits; newlines; other
// white space, so that an indentation is one piece.
extern const char* const kSourcePattern;
// Single digits, and whatever is between two of them, lines and all: in code that repeats itself
// tokens then span words (as SuperBPE's do, Liu et al., arXiv:2503.13423).
extern const char* const kRunPattern;
// Powers of two from 16 to 65536, types and functions of Triton and PyTorch whose names have
// digits.
std::vector<std::string> source_numbers();

struct BpeOptions {
  int size = 4096;  // tokens in all: bytes, listed ones, joined ones, special ones
  std::vector<std::string> specials = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|plan|>",
                                       "<|code|>"};
  // The listed ones. Each has two characters at least, which are ASCII letters, digits and
  // underscores, one of them a digit. Digits alone are a token if no digit is next to them (the 16
  // of x16, not of 160). One with letters is a token if no letter, digit or underscore is next to
  // it.
  std::vector<std::string> whole = source_numbers();
  // Perl's regular expressions, as tokenizers (Oniguruma) and PCRE2 both read them.
  std::string pattern = kSourcePattern;
  int64_t least_count = 2;  // rarer pairs are not joined
  int longest = 64;         // bytes of a joined token
};

// How often each piece of a corpus occurs.
class PieceCounts {
 public:
  // InputError: what is wrong with the options.
  explicit PieceCounts(const BpeOptions& options);

  // Special tokens within the text part it and are not counted. InputError where it is not UTF-8.
  void add(std::string_view text);
  void add_piece(std::string_view piece, int64_t count);  // InputError: count below 1, or too many

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Map = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;
  const Map& counts() const { return counts_; }

 private:
  Tokenizer splitter_;  // of the options, without merges
  Map counts_;
  int64_t bytes_ = 0;  // times their counts
};

struct TrainedBpe {
  std::string json;   // tokenizer.json
  int size = 0;       // tokens
  std::string fewer;  // why they are fewer than asked for; else empty
};

// Of pairs that are equally frequent the one with the lower left token is joined, then with the
// lower right one. Tokens are numbered so: bytes by value, listed ones as listed, joined ones as
// they are made, special ones as listed. Takes time and memory in proportion to the bytes of
// distinct pieces. `progress` is told now and then how many tokens there are of how many.
// InputError: what is wrong with the options.
TrainedBpe train_bpe(const PieceCounts& corpus, const BpeOptions& options,
                     const std::function<void(int, int)>& progress = {});

}  // namespace kw
