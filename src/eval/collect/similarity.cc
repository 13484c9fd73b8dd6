#include "eval/collect/similarity.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace kw {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Matches a letter or a word followed by a number: t17, a0, k3_1.
bool is_numbered(std::string_view word) {
  const size_t digit = word.find_first_of("0123456789");
  return digit != std::string_view::npos && digit > 0 && digit <= 3 &&
         word.find_first_not_of("0123456789_", digit) == std::string_view::npos;
}

std::vector<std::string> tokens_of(std::string_view text, bool any_names) {
  std::vector<std::string> out;
  std::unordered_map<std::string, std::string> renamed;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (is_word(c)) {
      const size_t begin = at;
      while (at < text.size() && is_word(text[at])) ++at;
      std::string word(text.substr(begin, at - begin));
      if (any_names && is_numbered(word)) {
        const auto place = std::to_string(renamed.size());
        word = renamed.try_emplace(word, "#" + place).first->second;
      }
      out.push_back(std::move(word));
    } else {
      if (!std::isspace(static_cast<unsigned char>(c))) out.emplace_back(1, c);
      ++at;
    }
  }
  return out;
}

// FNV-1a, 64 bits.
uint64_t hash_of(const std::string* first, size_t count) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (size_t i = 0; i < count; ++i) {
    for (const char c : first[i]) add(static_cast<unsigned char>(c));
    add(0);
  }
  return hash;
}

}  // namespace

std::unordered_set<uint64_t> token_runs(std::string_view text, size_t length, bool any_names) {
  const std::vector<std::string> tokens = tokens_of(text, any_names);
  std::unordered_set<uint64_t> out;
  if (tokens.empty()) return out;
  const size_t run = std::min(length, tokens.size());
  for (size_t i = 0; i + run <= tokens.size(); ++i) out.insert(hash_of(&tokens[i], run));
  return out;
}

double jaccard(const std::unordered_set<uint64_t>& a, const std::unordered_set<uint64_t>& b) {
  if (a.empty() && b.empty()) return 1;
  const auto& few = a.size() < b.size() ? a : b;
  const auto& many = a.size() < b.size() ? b : a;
  const auto both = static_cast<double>(
      std::count_if(few.begin(), few.end(), [&](uint64_t run) { return many.contains(run); }));
  return both / (static_cast<double>(a.size() + b.size()) - both);
}

void KnownTexts::add(std::string_view text) {
  ++count_;
  for (const uint64_t run : token_runs(text, kRun, /*any_names=*/false)) ++texts_of_[run];
}

double KnownTexts::share_known(std::string_view text) const {
  size_t known = 0, telling = 0;
  for (const uint64_t run : token_runs(text, kRun, /*any_names=*/false)) {
    const auto found = texts_of_.find(run);
    if (found != texts_of_.end() && is_common(found->second)) continue;
    ++telling;
    known += found != texts_of_.end();
  }
  return telling == 0 ? 0 : static_cast<double>(known) / static_cast<double>(telling);
}

}  // namespace kw
