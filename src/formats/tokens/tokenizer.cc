#include "formats/tokens/tokenizer.h"

#include <pcre2.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <queue>

#include "formats/base/error.h"
#include "formats/json.h"
#include "formats/tokens/byte_alphabet.h"

namespace kw {
namespace {

// GPT-2's pattern, which "use_regex" stands for.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

uint64_t pair_of(TokenId left, TokenId right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

std::string composed(std::string_view text) {
  utf8proc_uint8_t* out = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &out,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (length < 0) throw InputError("a text that is not UTF-8");
  return {reinterpret_cast<const char*>(out), static_cast<size_t>(length)};
}

bool is_set(const JsonReader& in, std::string_view key) {
  return in.has(key) && !in.at(key).is_null() &&
         !(in.raw().at(key).is_string() && in.at(key).string().empty());
}

bool flag(const JsonReader& in, std::string_view key, bool otherwise) {
  return in.has(key) && !in.at(key).is_null() ? in.at(key).boolean() : otherwise;
}

}  // namespace

struct Tokenizer::Pattern {
  pcre2_code* code = nullptr;

  Pattern(const std::string& text, const JsonReader& in) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                         PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
    if (!code) in.fail("no regular expression, from character " + std::to_string(at) + " on");
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, it is slower
  }
  ~Pattern() { pcre2_code_free(code); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Pieces of the text, in order.
  void cut(std::string_view text, bool keep_between, std::vector<std::string_view>& out) const {
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
        pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
    size_t done = 0, from = 0;
    while (from < text.size()) {
      const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                    from, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) throw InputError("a text that the tokenizer's pattern takes too long for");
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match.get());
      if (span[1] == span[0]) {  // of nothing: one character on
        from = span[1] + 1;
        while (from < text.size() && (text[from] & 0xC0) == 0x80) ++from;
        continue;
      }
      if (keep_between && span[0] > done) out.push_back(text.substr(done, span[0] - done));
      out.push_back(text.substr(span[0], span[1] - span[0]));
      done = from = span[1];
    }
    if (keep_between && done < text.size()) out.push_back(text.substr(done));
  }
};

// Fills a tokenizer from its file, member by member.
class TokenizerReader {
 public:
  TokenizerReader(Tokenizer& out, const JsonReader& in) : out_(out), in_(in) {}

  void read() {
    read_normaliser();
    if (!in_.has("pre_tokenizer") || in_.at("pre_tokenizer").is_null()) {
      in_.fail("has no pre_tokenizer: only byte-level ones are read");
    }
    read_pre_tokenizer(in_.at("pre_tokenizer"));
    if (!byte_level_) in_.at("pre_tokenizer").fail("is not byte-level");
    read_model(in_.at("model"));
    read_added();
  }

 private:
  void read_normaliser() {
    if (!is_set(in_, "normalizer")) return;
    const JsonReader normaliser = in_.at("normalizer");
    if (normaliser.at("type").string() != "NFC") normaliser.fail("only NFC is read");
    out_.nfc_ = true;
  }

  void read_pre_tokenizer(const JsonReader& in) {
    const std::string& type = in.at("type").string();
    if (byte_level_) in.fail("stands behind the byte-level one");
    if (type == "Sequence") {
      for (const JsonReader& each : in.at("pretokenizers").items()) read_pre_tokenizer(each);
    } else if (type == "ByteLevel") {
      byte_level_ = true;
      out_.prefix_space_ = flag(in, "add_prefix_space", true);
      if (flag(in, "use_regex", true)) add_split(kGpt2Pattern, true, in);
    } else if (type == "Split") {
      const std::string& behaviour = in.at("behavior").string();
      const bool invert = flag(in, "invert", false);
      const bool isolated = behaviour == "Isolated" && !invert;
      if (!isolated && !(behaviour == "Removed" && invert)) {
        in.fail("only splits that isolate matches, or remove all else, are read");
      }
      add_split(in.at("pattern").at("Regex").string(), isolated, in);
    } else {
      in.at("type").fail("is not read: only Sequence, Split and ByteLevel are");
    }
  }

  void add_split(const std::string& pattern, bool keep_between, const JsonReader& in) {
    out_.splits_.push_back({std::make_shared<Tokenizer::Pattern>(pattern, in), keep_between});
  }

  void read_model(const JsonReader& in) {
    if (in.has("type") && in.at("type").string() != "BPE") in.at("type").fail("only BPE is read");
    for (const char* key :
         {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
      if (is_set(in, key)) in.at(key).fail("is not supported");
    }
    if (flag(in, "byte_fallback", false)) in.at("byte_fallback").fail("is not supported");
    out_.whole_pieces_ = flag(in, "ignore_merges", false);
    for (const auto& [text, id] : in.at("vocab").members()) add_token(text, id);
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = out_.ids_.find(std::string(1, static_cast<char>(byte)));
      if (found == out_.ids_.end()) {
        in.at("vocab").fail("has no token for byte " + std::to_string(byte));
      }
      out_.of_byte_[byte] = found->second;
    }
    int32_t rank = 0;
    for (const JsonReader& merge : in.at("merges").items()) add_merge(merge, rank++);
  }

  TokenId place(const JsonReader& id) {
    constexpr int64_t kMost = 1 << 22;
    const auto at = static_cast<TokenId>(id.integer(0, kMost));
    if (at >= out_.size()) out_.tokens_.resize(static_cast<size_t>(at) + 1);
    return at;
  }

  void add_token(const std::string& text, const JsonReader& id) {
    const std::optional<std::string> bytes = bytes_of(text);
    if (!bytes || bytes->empty()) id.fail("is not in the alphabet of bytes");
    const TokenId at = place(id);
    if (!out_.tokens_[at].bytes.empty()) id.fail("another token has this number");
    out_.tokens_[at].bytes = *bytes;
    out_.ids_.emplace(*bytes, at);
  }

  void add_merge(const JsonReader& in, int32_t rank) {
    std::string left, right;
    if (in.raw().is_string()) {
      const std::string& text = in.string();
      const size_t space = text.find(' ');
      if (space == std::string::npos) in.fail("expected two tokens with a space between");
      left = text.substr(0, space), right = text.substr(space + 1);
    } else {
      left = in.at(size_t{0}).string(), right = in.at(size_t{1}).string();
    }
    const auto id = [&](const std::optional<std::string>& bytes) {
      const auto found = bytes ? out_.ids_.find(*bytes) : out_.ids_.end();
      if (found == out_.ids_.end()) in.fail("is made of what is no token, or makes none");
      return found->second;
    };
    const auto a = bytes_of(left), b = bytes_of(right);
    const TokenId first = id(a), second = id(b);
    out_.merges_.emplace(pair_of(first, second), Tokenizer::Merge{rank, id(*a + *b)});
  }

  void read_added() {
    out_.added_starts_.assign(256, false);
    if (!in_.has("added_tokens")) return;
    for (const JsonReader& each : in_.at("added_tokens").items()) {
      const std::string& text = each.at("content").string();
      if (text.empty()) each.fail("an empty token");
      for (const char* key : {"single_word", "lstrip", "rstrip"}) {
        if (flag(each, key, false)) each.at(key).fail("is not supported");
      }
      const TokenId id = place(each.at("id"));
      out_.tokens_[id] = {text, flag(each, "special", false)};
      out_.added_.push_back({text, id});
      out_.added_starts_[static_cast<unsigned char>(text[0])] = true;
    }
    std::stable_sort(out_.added_.begin(), out_.added_.end(),
                     [](const auto& a, const auto& b) { return a.text.size() > b.text.size(); });
  }

  Tokenizer& out_;
  const JsonReader in_;
  bool byte_level_ = false;
};

Tokenizer::Tokenizer(std::string_view json, const std::string& name) {
  const Json document = parse_json(json, name);
  TokenizerReader(*this, JsonReader(document, name)).read();
}

std::optional<TokenId> Tokenizer::find_added(std::string_view text) const {
  for (const Added& added : added_) {
    if (added.text == text) return added.id;
  }
  return std::nullopt;
}

const Tokenizer::Added* Tokenizer::added_at(std::string_view text, size_t at) const {
  if (!added_starts_[static_cast<unsigned char>(text[at])]) return nullptr;
  const std::string_view rest = text.substr(at);
  for (const Added& added : added_) {
    if (rest.starts_with(added.text)) return &added;
  }
  return nullptr;
}

template <class OfText, class OfSpecial>
void Tokenizer::cut_specials(std::string_view text, Specials specials, OfText of_text,
                             OfSpecial of_special) const {
  if (!is_utf8(text)) throw InputError("a text that is not UTF-8");
  size_t done = 0;
  for (size_t at = 0; specials == Specials::kTokens && at < text.size();) {
    const Added* added = added_at(text, at);
    if (!added) {
      ++at;
      continue;
    }
    of_text(text.substr(done, at - done));
    of_special(added->id);
    done = at += added->text.size();
  }
  of_text(text.substr(done));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, Specials specials) const {
  std::vector<TokenId> out;
  cut_specials(
      text, specials,
      [&](std::string_view part) {
        split_text(part, [&](std::string_view piece) { encode_piece(piece, out); });
      },
      [&](TokenId special) { out.push_back(special); });
  return out;
}

void Tokenizer::split(std::string_view text, const std::function<void(std::string_view)>& take,
                      Specials specials) const {
  cut_specials(
      text, specials, [&](std::string_view part) { split_text(part, take); }, [](TokenId) {});
}

template <class Take>
void Tokenizer::split_text(std::string_view text, const Take& take) const {
  if (text.empty()) return;
  std::string own;
  if (nfc_ && std::any_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; })) {
    text = own = composed(text);
  }
  if (prefix_space_ && text[0] != ' ') text = own = " " + std::string(text);
  std::vector<std::string_view> pieces = {text}, finer;
  for (const Split& split : splits_) {
    finer.clear();
    for (std::string_view piece : pieces) split.pattern->cut(piece, split.keep_between, finer);
    pieces.swap(finer);
  }
  for (std::string_view piece : pieces) take(piece);
}

// Neighbours are joined by rank, then from the left; a joined token may be joined again.
void Tokenizer::encode_piece(std::string_view piece, std::vector<TokenId>& out) const {
  if (whole_pieces_) {
    const auto whole = ids_.find(std::string(piece));
    if (whole != ids_.end()) return out.push_back(whole->second);
  }
  struct Place {
    TokenId id;
    int before, after;  // -1: none
  };
  struct Pair {
    int32_t rank;
    int at;  // its left token
    TokenId left, right, joined;
    bool operator>(const Pair& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  const int count = static_cast<int>(piece.size());
  std::vector<Place> places(piece.size());
  for (int i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(piece[i]);
    places[i] = {of_byte_[byte], i - 1, i + 1 < count ? i + 1 : -1};
  }
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> open;
  const auto offer = [&](int at) {
    if (at < 0 || places[at].after < 0) return;
    const TokenId left = places[at].id, right = places[places[at].after].id;
    const auto found = merges_.find(pair_of(left, right));
    if (found == merges_.end()) return;
    open.push({found->second.rank, at, left, right, found->second.joined});
  };
  for (int i = 0; i < count; ++i) offer(i);
  while (!open.empty()) {
    const Pair pair = open.top();
    open.pop();
    Place& left = places[pair.at];
    // Either may have been joined with another since.
    if (left.id != pair.left || left.after < 0 || places[left.after].id != pair.right) continue;
    Place& right = places[left.after];
    right.id = -1;
    left.id = pair.joined;
    left.after = right.after;
    if (left.after >= 0) places[left.after].before = pair.at;
    offer(left.before);
    offer(pair.at);
  }
  for (int i = 0; i >= 0 && i < count; i = places[i].after) out.push_back(places[i].id);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, Specials specials) const {
  std::string out;
  for (TokenId id : ids) {
    const Token& token = tokens_.at(id);
    if (!token.special || specials == Specials::kTokens) out += token.bytes;
  }
  return out;
}

}  // namespace kw
