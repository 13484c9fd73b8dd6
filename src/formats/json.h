// Strict reading of JSON from hostile sources.
//
// A JsonReader is a cursor into a parsed document that knows its path, so that every complaint
// names the place ("forward.steps[3].op: expected a string"); it borrows the document. All failures
// are InputError. Documents nested deeper than 64 levels are refused before they are built. Reading
// takes time and memory in proportion to the document, whatever its keys are like.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

using Json = nlohmann::json;

// Parses `text`; InputError names `what` and the byte where it went wrong.
Json parse_json(std::string_view text, std::string_view what);

// Returns whether `text` is UTF-8, as text in a JSON document must be.
bool is_utf8(std::string_view text);

class JsonReader {
 public:
  JsonReader(const Json& json, std::string path);

  const Json& raw() const { return *json_; }
  std::string path() const;  // long keys are shortened
  bool is_null() const { return json_->is_null(); }
  bool has(std::string_view key) const { return json_->is_object() && json_->contains(key); }

  JsonReader at(std::string_view key) const;  // object member, which must exist
  JsonReader at(size_t index) const;          // array element, which must exist
  std::vector<JsonReader> items() const;      // of an array
  std::vector<std::pair<std::string, JsonReader>> members() const;  // of an object, sorted by key

  bool boolean() const;
  int64_t integer() const;
  int64_t integer(int64_t low, int64_t high) const;  // both inclusive
  double number() const;
  const std::string& string() const;
  size_t one_of(std::span<const std::string_view> names) const;  // the index of the string
  std::vector<int64_t> integers() const;

  [[noreturn]] void fail(const std::string& message) const;

 private:
  struct Place;
  JsonReader(const Json& json, std::shared_ptr<const Place> place);
  JsonReader element(size_t index) const;

  const Json* json_;
  std::shared_ptr<const Place> place_;
};

}  // namespace kw
