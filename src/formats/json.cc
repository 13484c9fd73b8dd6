#include "formats/json.h"

#include "formats/base/error.h"

namespace kw {
namespace {

constexpr int kMaxDepth = 64;

// Nesting depth without parsing, so that a hostile document cannot exhaust the stack.
void check_depth(std::string_view text, std::string_view what) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) {
        throw InputError(std::string(what) + ": nested deeper than " + std::to_string(kMaxDepth) +
                         " levels at byte " + std::to_string(i));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

// Returns a key as messages show it, cut between characters of UTF-8.
std::string shortened(const std::string& key) {
  constexpr size_t kLongest = 60;
  if (key.size() <= kLongest) return key;
  size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(key[end]) & 0xC0) == 0x80) --end;
  return key.substr(0, end) + "...";
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what) {
  check_depth(text, what);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw InputError(std::string(what) + ": not JSON at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    throw InputError(std::string(what) + ": holds a number that is too large");
  }
}

// One step of a path; the text is made of the steps only when somebody asks for it.
struct JsonReader::Place {
  std::shared_ptr<const Place> outer;  // none at the root
  std::string root;                    // the path of the root
  const std::string* key = nullptr;    // of a member, in the document
  size_t index = 0;                    // of an element
};

JsonReader::JsonReader(const Json& json, std::string path)
    : json_(&json),
      place_(std::make_shared<const Place>(Place{nullptr, std::move(path), nullptr, 0})) {}

JsonReader::JsonReader(const Json& json, std::shared_ptr<const Place> place)
    : json_(&json), place_(std::move(place)) {}

std::string JsonReader::path() const {
  std::vector<const Place*> places;
  for (const Place* place = place_.get(); place; place = place->outer.get()) {
    places.push_back(place);
  }
  std::string text = places.back()->root;
  for (auto place = places.rbegin() + 1; place != places.rend(); ++place) {
    if ((*place)->key) {
      text += (text.empty() ? "" : ".") + shortened(*(*place)->key);
    } else {
      text += "[" + std::to_string((*place)->index) + "]";
    }
  }
  return text;
}

void JsonReader::fail(const std::string& message) const {
  const std::string place = path();
  const std::string found =
      message.starts_with("expected") ? ", found " + std::string(json_->type_name()) : "";
  throw InputError((place.empty() ? "document" : place) + ": " + message + found);
}

bool is_utf8(std::string_view text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

JsonReader JsonReader::at(std::string_view key) const {
  if (!json_->is_object()) fail("expected an object with \"" + std::string(key) + "\"");
  auto it = json_->find(key);
  if (it == json_->end()) fail("missing member \"" + std::string(key) + "\"");
  return JsonReader(*it, std::make_shared<const Place>(Place{place_, "", &it.key(), 0}));
}

JsonReader JsonReader::at(size_t index) const {
  if (!json_->is_array() || index >= json_->size()) {
    fail("expected an array with at least " + std::to_string(index + 1) + " elements");
  }
  return element(index);
}

JsonReader JsonReader::element(size_t index) const {
  return JsonReader((*json_)[index],
                    std::make_shared<const Place>(Place{place_, "", nullptr, index}));
}

std::vector<JsonReader> JsonReader::items() const {
  if (!json_->is_array()) fail("expected an array");
  std::vector<JsonReader> out;
  out.reserve(json_->size());
  for (size_t i = 0; i < json_->size(); ++i) out.push_back(element(i));
  return out;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (!json_->is_object()) fail("expected an object");
  std::vector<std::pair<std::string, JsonReader>> out;
  for (auto it = json_->begin(); it != json_->end(); ++it) out.emplace_back(it.key(), at(it.key()));
  return out;
}

bool JsonReader::boolean() const {
  if (!json_->is_boolean()) fail("expected true or false");
  return json_->get<bool>();
}

int64_t JsonReader::integer() const {
  if (!json_->is_number_integer()) fail("expected an integer");
  if (json_->is_number_unsigned() && json_->get<uint64_t>() > uint64_t{INT64_MAX}) {
    fail("expected an integer of 64 bits");
  }
  return json_->get<int64_t>();
}

int64_t JsonReader::integer(int64_t low, int64_t high) const {
  const int64_t value = integer();
  if (value < low || value > high) {
    fail("expected an integer in [" + std::to_string(low) + ", " + std::to_string(high) +
         "] and got " + std::to_string(value));
  }
  return value;
}

double JsonReader::number() const {
  if (!json_->is_number()) fail("expected a number");
  return json_->get<double>();
}

const std::string& JsonReader::string() const {
  if (!json_->is_string()) fail("expected a string");
  return json_->get_ref<const std::string&>();
}

size_t JsonReader::one_of(std::span<const std::string_view> names) const {
  const auto found = std::ranges::find(names, string());
  if (found == names.end()) fail("unknown name \"" + shortened(string()) + "\"");
  return static_cast<size_t>(found - names.begin());
}

std::vector<int64_t> JsonReader::integers() const {
  std::vector<int64_t> out;
  for (const JsonReader& item : items()) out.push_back(item.integer());
  return out;
}

}  // namespace kw
