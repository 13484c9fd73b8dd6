#include "formats/model_constants.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

namespace kw {
namespace {

// The value of "4 * 512" or "8_192"; none where it overflows.
std::optional<int64_t> product_of(const std::string& text) {
  static const std::regex kFactor("-?[0-9][0-9_]*");
  int64_t value = 1;
  for (std::sregex_iterator it(text.begin(), text.end(), kFactor), end; it != end; ++it) {
    std::string digits = it->str();
    std::erase(digits, '_');
    int64_t factor = 0;
    try {
      factor = std::stoll(digits);
    } catch (const std::out_of_range&) {
      return std::nullopt;
    }
    if (__builtin_mul_overflow(value, factor, &value)) return std::nullopt;
  }
  return value;
}

std::optional<ModelConstant> constant_of(const std::string& line) {
  static const std::regex kConstant(
      "^([A-Za-z_][A-Za-z0-9_]*) *= *(-?[0-9][0-9_]*(?: *\\* *[0-9][0-9_]*)*) *\r?$");
  constexpr size_t kLongest = 1000;  // a match recurses for each character: a line could end us
  const std::string code = line.substr(0, line.find('#'));
  std::smatch found;
  if (code.size() >= kLongest || !std::regex_match(code, found, kConstant)) return std::nullopt;
  const std::optional<int64_t> value = product_of(found.str(2));
  if (!value) return std::nullopt;
  return ModelConstant{found.str(1), *value};
}

// Reads a file line by line, and keeps track of strings in triple quotes: a line that begins inside
// one has no constant.
class Lines {
 public:
  // Returns the constant that the next line of the file defines, if it defines one.
  std::optional<ModelConstant> constant(const std::string& line) {
    const bool inside = !quotes_.empty();
    for (size_t at = 0; at < line.size();) {
      if (quotes_.empty() && line[at] == '#') break;
      const std::string three = line.substr(at, 3);
      if (three == quotes_) {
        quotes_.clear();
        at += 3;
      } else if (quotes_.empty() && (three == R"(""")" || three == "'''")) {
        quotes_ = three;
        at += 3;
      } else {
        ++at;
      }
    }
    return inside ? std::nullopt : constant_of(line);
  }

 private:
  std::string quotes_;  // that end the string we are in
};

}  // namespace

std::vector<ModelConstant> model_constants(const std::string& text) {
  std::vector<ModelConstant> constants;
  std::istringstream lines(text);
  Lines state;
  for (std::string line; std::getline(lines, line);) {
    const std::optional<ModelConstant> found = state.constant(line);
    if (!found) continue;
    const auto same =
        std::find_if(constants.begin(), constants.end(),
                     [&](const ModelConstant& known) { return known.name == found->name; });
    if (same == constants.end()) {
      constants.push_back(*found);
    } else {
      same->value = found->value;
    }
  }
  return constants;
}

bool set_model_constant(std::string& text, const ModelConstant& constant) {
  std::istringstream lines(text);
  Lines state;
  std::string out;
  bool replaced = false;
  for (std::string line; std::getline(lines, line);) {
    const std::optional<ModelConstant> found = state.constant(line);
    if (found && found->name == constant.name) {
      line = constant.name + " = " + std::to_string(constant.value);
      replaced = true;
    }
    out += line + "\n";
  }
  if (replaced) text = std::move(out);
  return replaced;
}

}  // namespace kw
