#include "formats/tokens/bpe_trainer.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <queue>
#include <set>

#include "formats/base/error.h"
#include "formats/json.h"
#include "formats/tokens/byte_alphabet.h"

namespace kw {

const char* const kSourcePattern =
    R"( ?[\p{L}\p{M}_]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}_]+|(?:\r?\n)+|[^\S\r\n]+|\s)";
const char* const kRunPattern = R"(\p{N}|[^\p{N}]+)";

std::vector<std::string> source_numbers() {
  return {"16",         "32",       "64",    "128",    "256",    "512",    "1024",    "2048",
          "4096",       "8192",     "16384", "32768",  "65536",  "int1",   "int8",    "int16",
          "int32",      "int64",    "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64",    "bfloat16", "fp16",  "bf16",   "fp32",   "tf32",   "tf32x3",  "float8e5",
          "float8e4nv", "log2",     "exp2",  "log1p",  "expm1",  "conv1d", "conv2d",  "conv3d",
          "Conv1d",     "Conv2d",   "Conv3d"};
}

namespace {

bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_word(unsigned char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void check(const BpeOptions& options) {
  std::set<std::string> seen;
  for (const std::string& each : options.whole) {
    if (each.size() < 2 || !std::all_of(each.begin(), each.end(), is_word) ||
        std::none_of(each.begin(), each.end(), is_digit)) {
      throw InputError("\"" + each +
                       "\" cannot be one token: expected two or more of letters, digits and "
                       "underscores, with a digit");
    }
    if (!seen.insert(each).second) throw InputError("\"" + each + "\" is listed twice");
  }
  for (const std::string& each : options.specials) {
    if (each.size() < 2 || !is_utf8(each)) {
      throw InputError("a special token is UTF-8 of two bytes or more");
    }
    if (!seen.insert(each).second) throw InputError("\"" + each + "\" is listed twice");
  }
  if (!is_utf8(options.pattern)) throw InputError("a pattern that is not UTF-8");
  const size_t least = 256 + options.whole.size() + options.specials.size();
  if (options.size < static_cast<int>(least) || options.size > 1 << 22) {
    throw InputError("a vocabulary of " + std::to_string(options.size) + ": expected " +
                     std::to_string(least) + " (bytes, listed and special ones) to " +
                     std::to_string(1 << 22));
  }
  if (options.least_count < 1 || options.longest < 2) {
    throw InputError("expected a least count of 1 or more and tokens of 2 bytes or more");
  }
}

// "a|b|c" of the listed ones that have letters, or of those that have none; the longest first.
std::string alternatives(std::vector<std::string> whole, bool with_letters) {
  std::erase_if(whole, [&](const std::string& each) {
    return std::all_of(each.begin(), each.end(), is_digit) == with_letters;
  });
  std::stable_sort(whole.begin(), whole.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::string out;
  for (const std::string& each : whole) out += (out.empty() ? "" : "|") + each;
  return out;
}

Json split_at(const std::string& pattern) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

Json byte_level() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", false}};
}

Json pre_tokenizer(const BpeOptions& options) {
  Json steps = Json::array();
  const std::string words = alternatives(options.whole, true);
  const std::string numbers = alternatives(options.whole, false);
  std::string pattern = options.pattern, apart;
  if (!words.empty()) {
    apart = R"((?<![\p{L}\p{M}\p{N}_])(?:)" + words + R"()(?![\p{L}\p{M}\p{N}_]))";
  }
  if (!numbers.empty()) {
    apart += (apart.empty() ? "" : "|") + (R"((?<!\p{N})(?:)" + numbers + R"()(?!\p{N}))");
  }
  if (!apart.empty()) {
    steps.push_back(split_at(apart));
    // The next one must leave them whole. No other part of the text reads the same.
    const std::string all = words + (words.empty() || numbers.empty() ? "" : "|") + numbers;
    pattern = R"(\A(?:)" + all + R"()\z|(?:)" + pattern + ")";
  }
  steps.push_back(split_at(pattern));
  steps.push_back(byte_level());
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

using Merges = std::vector<std::pair<TokenId, TokenId>>;

// `tokens` by number, without the special ones.
std::string file_of(const std::vector<std::string>& tokens, const Merges& merges,
                    const BpeOptions& options) {
  Json vocabulary = Json::object(), joined = Json::array(), added = Json::array();
  for (size_t id = 0; id < tokens.size(); ++id) vocabulary[spelled(tokens[id])] = id;
  // As texts: older versions of tokenizers do not read pairs.
  for (const auto& [left, right] : merges) {
    joined.push_back(spelled(tokens[left]) + " " + spelled(tokens[right]));
  }
  size_t id = tokens.size();
  for (const std::string& special : options.specials) {
    // It would get that token's number, from one reader or the other.
    if (vocabulary.contains(special) || vocabulary.contains(spelled(special))) {
      throw InputError("\"" + special + "\" is special, and a token of the corpus too");
    }
    added.push_back({{"id", id++},
                     {"content", special},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  Json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", true},
                {"vocab", std::move(vocabulary)},
                {"merges", std::move(joined)}};
  return Json({{"version", "1.0"},
               {"truncation", nullptr},
               {"padding", nullptr},
               {"added_tokens", std::move(added)},
               {"normalizer", nullptr},
               {"pre_tokenizer", pre_tokenizer(options)},
               {"post_processor", nullptr},
               {"decoder", byte_level()},
               {"model", std::move(model)}})
             .dump() +
         "\n";
}

std::vector<std::string> first_tokens(const BpeOptions& options) {
  std::vector<std::string> out;
  for (int byte = 0; byte < 256; ++byte) out.emplace_back(1, static_cast<char>(byte));
  out.insert(out.end(), options.whole.begin(), options.whole.end());
  return out;
}

std::string without_merges(const BpeOptions& options) {
  check(options);
  return file_of(first_tokens(options), {}, options);
}

// Holds all pieces as one list of places, each with a token and its neighbours in its piece. A
// joined token is in the place of its left part. Each pair keeps the places where it was seen, so
// that nothing has to be searched. Some places do not have the pair any more, which is checked on
// use.
class Joiner {
 public:
  Joiner(const PieceCounts::Map& pieces, const BpeOptions& options)
      : options_(options), tokens_(first_tokens(options)) {
    for (const auto& [piece, count] : pieces) add(piece, count);
    for (const auto& [pair, seen] : pairs_) open_.push({seen.count, pair});
  }

  // Joins the next pair; false where none is left.
  bool join() {
    while (!open_.empty()) {
      const Open top = open_.top();
      open_.pop();
      const auto found = pairs_.find(top.pair);
      if (found == pairs_.end()) continue;
      if (found->second.count != top.count) {  // it fell meanwhile; rises were entered again
        if (found->second.count < top.count) open_.push({found->second.count, top.pair});
        continue;
      }
      if (top.count < options_.least_count) return false;
      const auto node = pairs_.extract(found);
      join(static_cast<TokenId>(top.pair >> 32), static_cast<TokenId>(top.pair & 0xffffffff),
           node.mapped().at);
      return true;
    }
    return false;
  }

  const std::vector<std::string>& tokens() const { return tokens_; }
  const Merges& merges() const { return merges_; }

 private:
  static constexpr int32_t kNone = -1;
  struct Place {
    TokenId token;
    int32_t before, after;
    int32_t piece;
  };
  struct Seen {
    int64_t count = 0;
    std::vector<int32_t> at;  // places of the left token
  };
  struct Open {
    int64_t count;
    uint64_t pair;
    bool operator<(const Open& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void add(const std::string& piece, int64_t count) {
    constexpr size_t kMost = std::numeric_limits<int32_t>::max();
    if (places_.size() + piece.size() > kMost) throw InputError("a corpus of too many pieces");
    const auto first = static_cast<int32_t>(places_.size());
    const auto last = first + static_cast<int32_t>(piece.size()) - 1;
    for (int32_t at = first; at <= last; ++at) {
      const auto byte = static_cast<unsigned char>(piece[at - first]);
      places_.push_back({byte, at == first ? kNone : at - 1, at == last ? kNone : at + 1,
                         static_cast<int32_t>(counts_.size())});
    }
    counts_.push_back(count);
    for (int32_t at = first; at < last; ++at) {
      if (Seen* seen = pair(places_[at].token, places_[at + 1].token)) {
        seen->count += count;
        seen->at.push_back(at);
      }
    }
  }

  static uint64_t key(TokenId left, TokenId right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
  }
  // Null where these two are never joined.
  Seen* pair(TokenId left, TokenId right) {
    if (is_digit_token(left) || is_digit_token(right)) return nullptr;
    const size_t length = tokens_[left].size() + tokens_[right].size();
    return length > static_cast<size_t>(options_.longest) ? nullptr : &pairs_[key(left, right)];
  }
  static bool is_digit_token(TokenId id) { return id < 256 && is_digit(static_cast<uint8_t>(id)); }

  void join(TokenId left, TokenId right, std::vector<int32_t>& at) {
    // A new one: what is joined within equal bytes does not depend on what is around them, so that
    // no two pairs make the same token.
    const auto joined = static_cast<TokenId>(tokens_.size());
    tokens_.push_back(tokens_[left] + tokens_[right]);
    merges_.emplace_back(left, right);
    std::sort(at.begin(), at.end());  // of "aaa" the left two, as a tokenizer joins them
    risen_.clear();
    for (const int32_t place : at) join_at(place, left, right, joined);
    std::sort(risen_.begin(), risen_.end());
    risen_.erase(std::unique(risen_.begin(), risen_.end()), risen_.end());
    for (const uint64_t each : risen_) {
      const auto seen = pairs_.find(each);
      if (seen != pairs_.end()) open_.push({seen->second.count, each});
    }
  }

  void join_at(int32_t at, TokenId left, TokenId right, TokenId joined) {
    Place& place = places_[at];
    if (place.token != left || place.after == kNone || places_[place.after].token != right) return;
    const int64_t count = counts_[place.piece];
    Place& gone = places_[place.after];
    const int32_t before = place.before, after = gone.after;
    if (before != kNone) drop(places_[before].token, left, count);
    if (after != kNone) drop(right, places_[after].token, count);
    place.token = joined;
    place.after = after;
    gone.token = kNone;
    if (after != kNone) places_[after].before = at;
    if (before != kNone) raise(places_[before].token, joined, before, count);
    if (after != kNone) raise(joined, places_[after].token, at, count);
  }

  // The pair that is being joined has gone already, with its count.
  void drop(TokenId left, TokenId right, int64_t count) {
    const auto found = pairs_.find(key(left, right));
    if (found == pairs_.end()) return;
    found->second.count -= count;
    if (found->second.count == 0) pairs_.erase(found);
  }

  void raise(TokenId left, TokenId right, int32_t at, int64_t count) {
    Seen* seen = pair(left, right);
    if (!seen) return;
    seen->count += count;
    seen->at.push_back(at);
    risen_.push_back(key(left, right));
  }

  const BpeOptions& options_;
  std::vector<std::string> tokens_;
  Merges merges_;
  std::vector<Place> places_;
  std::vector<int64_t> counts_;  // by piece
  std::unordered_map<uint64_t, Seen> pairs_;
  std::priority_queue<Open> open_;  // no pair's count is above its highest entry
  std::vector<uint64_t> risen_;
};

}  // namespace

PieceCounts::PieceCounts(const BpeOptions& options)
    : splitter_(without_merges(options), "the tokenizer's options") {}

void PieceCounts::add(std::string_view text) {
  splitter_.split(text, [this](std::string_view piece) { add_piece(piece, 1); });
}

void PieceCounts::add_piece(std::string_view piece, int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (count < 1 || piece.size() > (1u << 30) ||
      count > (kMost - bytes_) / static_cast<int64_t>(std::max<size_t>(piece.size(), 1))) {
    throw InputError("a piece that occurs " + std::to_string(count) + " times: too many or none");
  }
  bytes_ += count * static_cast<int64_t>(piece.size());
  const auto found = counts_.find(piece);
  if (found != counts_.end()) {
    found->second += count;
  } else {
    counts_.emplace(piece, count);
  }
}

TrainedBpe train_bpe(const PieceCounts& corpus, const BpeOptions& options,
                     const std::function<void(int, int)>& progress) {
  check(options);
  PieceCounts::Map pieces = corpus.counts();
  // They are tokens as they are.
  for (const std::string& each : options.whole) pieces.erase(each);
  Joiner joiner(pieces, options);
  const size_t wanted = static_cast<size_t>(options.size) - options.specials.size();
  TrainedBpe out;
  while (joiner.tokens().size() < wanted) {
    if (!joiner.join()) {
      out.fewer = "no further pair occurs " + std::to_string(options.least_count) + " times";
      break;
    }
    const auto made = static_cast<int>(joiner.tokens().size());
    if (progress && made % 256 == 0) progress(made, static_cast<int>(wanted));
  }
  if (progress) progress(static_cast<int>(joiner.tokens().size()), static_cast<int>(wanted));
  out.json = file_of(joiner.tokens(), joiner.merges(), options);
  out.size = static_cast<int>(joiner.tokens().size() + options.specials.size());
  return out;
}

}  // namespace kw
