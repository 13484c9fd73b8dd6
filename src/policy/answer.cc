// Reads answers (prompt.h) without regular expressions or recursion, in one pass each.
#include <algorithm>
#include <optional>
#include <vector>

#include "formats/json.h"
#include "policy/chat/prompt.h"

namespace kw {
namespace {

using std::string_view;

constexpr string_view kClass = "class ModelNew";
constexpr string_view kFence = "```";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

string_view trimmed(string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A line of the text, without its line end.
struct Line {
  size_t begin, end, next;
};
Line line_at(string_view text, size_t begin) {
  const size_t end = text.find('\n', begin);
  if (end == string_view::npos) return {begin, text.size(), text.size()};
  return {begin, end, end + 1};
}

// A fenced block: the start of its fence, and its lines.
struct Block {
  size_t fence, begin, end;
  bool closed = false;
};

// Returns the fenced blocks. Fences may be indented by up to three spaces, and a fence is closed by
// one that is at least as long.
std::vector<Block> blocks_of(string_view text) {
  std::vector<Block> out;
  size_t length = 0;  // of the fence of the open block; 0: none is open
  for (size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    at = line.next;
    const string_view whole = text.substr(line.begin, line.end - line.begin);
    const string_view body = trimmed(whole);
    if (!body.starts_with(kFence) || whole.find(kFence) > 3) continue;
    const size_t ticks = std::min(body.find_first_not_of('`'), body.size());
    if (length == 0) {
      out.push_back({line.begin, line.next, text.size()});
      length = ticks;
    } else if (ticks == body.size() && ticks >= length) {
      out.back().end = line.begin;
      out.back().closed = true;
      length = 0;
    }
  }
  return out;
}

Answer fault(std::string reason) { return {"", "", std::move(reason)}; }

Answer answer_of(string_view plan, string_view source) {
  if (source.size() > kLongestSource) {
    return fault("the code is too long: " + std::to_string(source.size()) + " bytes of at most " +
                 std::to_string(kLongestSource));
  }
  Answer out;
  plan = trimmed(plan);
  size_t length = std::min(plan.size(), kLongestPlan);
  while (length < plan.size() && length > 0 && (plan[length] & 0xC0) == 0x80) --length;
  out.plan = plan.substr(0, length);
  out.source = source;
  return out;
}

// Returns whether some line of code begins with the class.
bool has_class(string_view code) {
  for (size_t at = 0; at < code.size();) {
    const Line line = line_at(code, at);
    if (trimmed(code.substr(line.begin, line.end - line.begin)).starts_with(kClass)) return true;
    at = line.next;
  }
  return false;
}

// Reads a text without fences.
Answer bare(string_view text) {
  if (text.find(kClass) == string_view::npos) return fault("the answer has no code block");
  for (size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    const string_view body = text.substr(line.begin, line.end - line.begin);
    if (body.starts_with("import ") || body.starts_with("from ")) {
      const string_view code = text.substr(line.begin);
      if (code.find(kClass) == string_view::npos) break;
      Answer out = answer_of(text.substr(0, line.begin), code);
      out.open = true;
      return out;
    }
    at = line.next;
  }
  return fault("the answer has no code block, and no import before its code");
}

// Returns whether code has `def name(` or `name =` at the beginning of a line.
bool defines(string_view code, string_view name) {
  for (size_t at = 0; at < code.size();) {
    const Line line = line_at(code, at);
    string_view rest = code.substr(line.begin, line.end - line.begin);
    at = line.next;
    const bool is_function = rest.starts_with("def ");
    if (is_function) rest = trimmed(rest.substr(4));
    if (!rest.starts_with(name)) continue;
    rest = trimmed(rest.substr(name.size()));
    if (rest.starts_with(is_function ? "(" : "=") && !rest.starts_with("==")) return true;
  }
  return false;
}

}  // namespace

std::string with_model(string_view text, bool is_code, const FunctionForm& form) {
  const std::string same(text);
  const std::optional<std::string> said = is_code ? same : without_thoughts(text);
  if (!said) return same;
  const std::string added = "\n\n" + form.model;
  const std::vector<Block> blocks = is_code ? std::vector<Block>{} : blocks_of(*said);
  if (blocks.empty()) {
    return defines(*said, form.name) && !has_class(*said) ? *said + added : same;
  }
  // The last block with Triton comes before those without: an example of its use may follow it,
  // with a stub of the class. The kernels themselves may be another module's.
  const Block* found = nullptr;
  bool found_kernel = false;
  for (const Block& block : blocks) {
    const string_view code = string_view(*said).substr(block.begin, block.end - block.begin);
    if (!block.closed) continue;
    if (has_class(code)) return same;
    const bool has_kernel = code.find("triton") != string_view::npos;
    if (!defines(code, form.name) || has_kernel < found_kernel) continue;
    found = &block;
    found_kernel = has_kernel;
  }
  if (!found) return same;
  return said->substr(0, found->end) + added + said->substr(found->end);
}

std::optional<std::string> without_thoughts(string_view text) {
  constexpr string_view kOpen = "<think>", kClose = "</think>";
  std::string out;
  size_t begin = 0, open = text.find(kOpen);
  for (size_t close = text.find(kClose); close != string_view::npos;
       close = text.find(kClose, begin)) {
    if (open < close) {
      out += text.substr(begin, open - begin);
    } else {
      out.clear();
    }
    begin = close + kClose.size();
    // <think> is searched for again only after it was passed, so that an answer of many </think>
    // does not take quadratic time.
    if (open < begin) open = text.find(kOpen, begin);
  }
  if (open != string_view::npos) return {};
  return out += text.substr(begin);
}

Answer parse_answer(string_view text) {
  if (text.size() > kLongestAnswer) {
    return fault("the answer is too long: " + std::to_string(text.size()) + " bytes of at most " +
                 std::to_string(kLongestAnswer));
  }
  if (!is_utf8(text)) return fault("the answer is not UTF-8");
  const std::optional<std::string> said = without_thoughts(text);
  if (!said) return fault("the answer is cut off: it ends in a thought");
  const string_view rest = *said;
  if (trimmed(rest).empty()) return fault("the answer is empty");
  const std::vector<Block> blocks = blocks_of(rest);
  if (blocks.empty()) return bare(rest);
  for (size_t i = blocks.size(); i-- > 0;) {
    const Block& block = blocks[i];
    const string_view code = rest.substr(block.begin, block.end - block.begin);
    if (!block.closed || !has_class(code)) continue;
    return answer_of(rest.substr(0, block.fence), code);
  }
  if (!blocks.back().closed) return fault("the answer is cut off: its code block does not end");
  return fault("no code block of the answer has `class ModelNew`");
}

}  // namespace kw
