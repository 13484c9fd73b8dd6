#include "mutate.h"

#include <algorithm>
#include <string_view>

namespace kw {
namespace {

using Random = std::mt19937_64;

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr const char* kAwkward[] = {"null",
                                    "true",
                                    "[]",
                                    "{}",
                                    "\"\"",
                                    "0",
                                    "-1",
                                    "-0.0",
                                    "1e308",
                                    "1e999",
                                    "0.5",
                                    "[0]",
                                    "[[]]",
                                    "1",
                                    "16",
                                    "{\"f\":\"nan\"}",
                                    "{\"v\":0}",
                                    "65536",
                                    "2147483647",
                                    "2147483648",
                                    "1099511627776",
                                    "9223372036854775807",
                                    "18446744073709551615",
                                    "-9223372036854775808"};

size_t below(Random& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

// Where a JSON value begins and ends.
struct Span {
  size_t begin = 0, end = 0;
};

size_t end_of_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

// The end of the value that begins at `at`: a string, a word or number, or brackets with all
// inside.
size_t end_of_value(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
    } else if (c == '[' || c == '{') {
      ++depth;
      ++at;
    } else if (c == ']' || c == '}') {
      if (depth-- == 0) return at;
      ++at;
    } else if (depth > 0) {
      ++at;
      continue;
    } else {
      return std::min(text.find_first_of(",:]} \n", at), text.size());
    }
    if (depth == 0) return at;
  }
  return text.size();
}

// A value at or after a random place, no key of an object; the last bytes when there is none.
Span any_value(std::string_view text, Random& random) {
  for (size_t at = below(random, text.size()); at < text.size();) {
    at = text.find_first_of("[,:", at);
    if (at == std::string_view::npos) break;
    const size_t begin = text.find_first_not_of(" \n", at + 1);
    if (begin == std::string_view::npos) break;
    const size_t end = end_of_value(text, begin);
    if (end > begin && (end == text.size() || text[end] != ':')) return {begin, end};
    at = begin;
  }
  return {text.size(), text.size()};
}

bool is_element(std::string_view text, Span value) {
  return value.begin > 0 && (text[value.begin - 1] == '[' || text[value.begin - 1] == ',');
}

void flip_bits(std::string& text, Random& random) {
  for (size_t count = 1 + below(random, 3); count > 0 && !text.empty(); --count) {
    text[below(random, text.size())] ^= static_cast<char>(1 << below(random, 8));
  }
}

void cut(std::string& text, Random& random) {
  const size_t at = below(random, text.size() + 1);
  text.erase(at, random() % 4 == 0 ? std::string::npos : below(random, 32));
}

void splice(std::string& text, const std::string& other, Random& random) {
  const size_t from = below(random, other.size() + 1);
  text.insert(below(random, text.size() + 1), other, from, below(random, 256));
}

// One JSON value in the place of another, or beside it.
void move_value(std::string& text, const std::string& other, Random& random) {
  const Span from = any_value(other, random), to = any_value(text, random);
  const std::string value = other.substr(from.begin, from.end - from.begin);
  if (random() % 3 == 0 && is_element(text, to)) {
    text.insert(to.begin, value + ",");
  } else {
    text.replace(to.begin, to.end - to.begin, value);
  }
}

void put_awkward(std::string& text, Random& random) {
  const Span to = any_value(text, random);
  text.replace(to.begin, to.end - to.begin, kAwkward[below(random, std::size(kAwkward))]);
}

void damage_bytes(std::string& text, const std::string& other, Random& random) {
  switch (random() % 3) {
    case 0:
      return flip_bits(text, random);
    case 1:
      return cut(text, random);
    default:
      return splice(text, other, random);
  }
}

// Leaves JSON that was whole mostly whole.
void change_values(std::string& text, const std::string& other, Random& random) {
  switch (random() % 3) {
    case 0:
      return move_value(text, other, random);
    case 1:
      return move_value(text, std::string(text), random);
    default:
      return put_awkward(text, random);
  }
}

}  // namespace

std::string mutated(const std::vector<std::string>& seeds, Random& random) {
  std::string text = seeds[below(random, seeds.size())];
  const bool bytes = random() % 4 == 0;
  for (size_t count = 1 + below(random, 3); count > 0; --count) {
    const std::string& other = seeds[below(random, seeds.size())];
    bytes ? damage_bytes(text, other, random) : change_values(text, other, random);
  }
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  return text;
}

}  // namespace kw
