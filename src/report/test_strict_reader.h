// Strict reading of the pages that this folder writes, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace kw {

struct Tag {
  std::string name;
  std::map<std::string, std::string> attributes;
};

inline std::string unescape(std::string text) {
  constexpr std::pair<const char*, const char*> kEntities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, plain] : kEntities) {
    for (size_t at = 0; (at = text.find(entity, at)) != std::string::npos; ++at) {
      text.replace(at, std::string(entity).size(), plain);
    }
  }
  return text;
}

// A strict reader: every tag closed in order, every attribute quoted and given once, no stray "<",
// no "&" but the five entities. Collects tags and text.
class StrictReader {
 public:
  explicit StrictReader(const std::string& html) : html_(html) {
    at_ = html.starts_with("<!DOCTYPE html>") ? 15 : 0;
    while (at_ < html_.size() && !::testing::Test::HasFatalFailure()) next();
    EXPECT_TRUE(open_.empty()) << "not closed: " << (open_.empty() ? "" : open_.back());
  }
  std::vector<Tag> tags;
  std::string text;

 private:
  void next() {
    if (html_[at_] != '<') {
      const size_t end = std::min(html_.find('<', at_), html_.size());
      const std::string piece = html_.substr(at_, end - at_);
      if (open_.empty() || open_.back() != "style") {
        EXPECT_EQ(piece.find_first_of(">\""), std::string::npos) << piece;
        check_entities(piece);
        text += unescape(piece);
      }
      at_ = end;
    } else if (html_.compare(at_, 2, "</") == 0) {
      const size_t end = html_.find('>', at_);
      ASSERT_NE(end, std::string::npos);
      ASSERT_FALSE(open_.empty());
      ASSERT_EQ(html_.substr(at_ + 2, end - at_ - 2), open_.back()) << "at byte " << at_;
      open_.pop_back();
      at_ = end + 1;
    } else {
      tag();
    }
  }
  void tag() {
    Tag tag;
    ++at_;
    tag.name = word();
    ASSERT_FALSE(tag.name.empty()) << "stray < at byte " << at_;
    while (at_ < html_.size() && html_[at_] == ' ') {
      ++at_;
      const std::string name = word();
      ASSERT_EQ(html_.substr(at_, 2), "=\"") << name;
      const size_t end = html_.find('"', at_ + 2);
      ASSERT_NE(end, std::string::npos);
      const std::string value = html_.substr(at_ + 2, end - at_ - 2);
      EXPECT_EQ(value.find_first_of("<>"), std::string::npos);
      check_entities(value);
      EXPECT_TRUE(tag.attributes.emplace(name, unescape(value)).second);
      at_ = end + 1;
    }
    if (html_.compare(at_, 2, "/>") == 0) {
      at_ += 2;
    } else {
      ASSERT_EQ(html_[at_], '>');
      ++at_;
      open_.push_back(tag.name);
    }
    tags.push_back(tag);
  }
  std::string word() {
    const size_t start = at_;
    while (at_ < html_.size() &&
           (std::isalnum(static_cast<unsigned char>(html_[at_])) || html_[at_] == '-')) {
      ++at_;
    }
    return html_.substr(start, at_ - start);
  }
  static void check_entities(const std::string& piece) {
    for (size_t at = 0; (at = piece.find('&', at)) != std::string::npos; ++at) {
      const std::string rest = piece.substr(at, 6);
      EXPECT_TRUE(rest.starts_with("&lt;") || rest.starts_with("&gt;") ||
                  rest.starts_with("&amp;") || rest.starts_with("&quot;") ||
                  rest.starts_with("&#39;"))
          << rest;
    }
  }

  const std::string& html_;
  size_t at_ = 0;
  std::vector<std::string> open_;
};

// Text from outside that tries to be more than text.
inline constexpr char kHostile[] =
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;]]>--><!--</style></pre></title>"
    "\x80\xff\xc0\xaf\x01 \xe2\x80\xae javascript:";

inline size_t count(const std::string& text, const std::string& needle) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(needle, at)) != std::string::npos; at += needle.size()) ++n;
  return n;
}

// Tags and attributes that load nothing, run nothing and point nowhere but into the page.
inline void expect_inert(const StrictReader& page) {
  static const std::set<std::string> kTags = {
      "html",    "head",    "meta",  "title", "style", "body", "header", "div",  "h1",
      "h2",      "h3",      "h4",    "small", "p",     "span", "nav",    "a",    "section",
      "article", "table",   "thead", "tbody", "tr",    "th",   "td",     "code", "pre",
      "details", "summary", "ul",    "li",    "dl",    "dt",   "dd",     "svg",  "defs",
      "marker",  "path",    "rect",  "text",  "g"};
  static const std::regex kWidth("width:[0-9]+\\.[0-9]{2}%");
  std::set<std::string> ids;
  for (const Tag& tag : page.tags) {
    EXPECT_TRUE(kTags.count(tag.name)) << tag.name;
    for (const auto& [name, value] : tag.attributes) {
      EXPECT_FALSE(name.starts_with("on") || name == "src") << name;
      EXPECT_TRUE(name != "href" || value.starts_with("#")) << value;
      EXPECT_TRUE(name != "style" || std::regex_match(value, kWidth)) << value;
      EXPECT_TRUE(name != "id" || ids.insert(value).second) << value;
    }
  }
  for (const Tag& tag : page.tags) {
    if (auto href = tag.attributes.find("href"); href != tag.attributes.end()) {
      EXPECT_TRUE(ids.count(href->second.substr(1))) << href->second;
    }
  }
}

}  // namespace kw
