#include "policy/chat/conversation.h"

#include <algorithm>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "policy/chat/prompt.h"

namespace kw {
namespace {

// Returns a fence that is longer than any in the code.
std::string fence_for(std::string_view code) {
  size_t longest = 2, run = 0;
  for (const char c : code) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  return std::string(longest + 1, '`');
}

// Returns the start of the line that the position is in.
size_t line_of(std::string_view text, size_t at) {
  const size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return before == std::string_view::npos ? 0 : before + 1;
}

Conversation read_row(const JsonReader& row) {
  Conversation out;
  std::string answer;
  std::string_view last;
  const std::vector<JsonReader> messages = row.at("messages").items();
  for (const JsonReader& message : messages) {
    const std::string& role = message.at("role").string();
    const std::string& content = message.at("content").string();
    if (role == "user") {
      out.prompt = content;
    } else if (role == "assistant") {
      answer = content;
    } else if (role == "system") {
      out.system = content;
    } else {
      message.at("role").fail("expected system, user or assistant");
    }
    last = role;
  }
  if (last != "assistant" || out.prompt.empty()) {
    row.at("messages")
        .fail("expected a question of the user's, and the assistant's answer at the end");
  }
  if (row.has("task")) out.prompt = row.at("task").string();
  if (row.has("file")) out.file = row.at("file").string();
  const Answer found = parse_answer(answer);
  if (!found.fault.empty()) row.at("messages").at(messages.size() - 1).fail(found.fault);
  out.code = found.source;
  // The plan is all text before the code and its fence, without thoughts.
  const size_t code = answer.rfind(out.code), begin = line_of(answer, code);
  const size_t plan = found.open || begin == 0 ? begin : line_of(answer, begin - 1);
  const bool thought = answer.find("</think>") != std::string::npos;
  out.plan = thought ? found.plan : answer.substr(0, plan);
  return out;
}

}  // namespace

std::string answer_text(const std::string& plan, const std::string& code) {
  std::string out = plan;
  if (!out.empty() && out.back() != '\n') out += '\n';
  const std::string fence = fence_for(code);
  out += fence + "python\n" + code;
  if (!code.ends_with('\n')) out += '\n';
  return out + fence + "\n";
}

std::string conversation_line(const Conversation& row, Json about) {
  Json& messages = about["messages"] = Json::array();
  if (!row.system.empty()) messages.push_back({{"role", "system"}, {"content", row.system}});
  messages.push_back({{"role", "user"}, {"content", row.prompt}});
  messages.push_back({{"role", "assistant"}, {"content", answer_text(row.plan, row.code)}});
  return about.dump() + "\n";
}

std::vector<Conversation> read_conversations(const std::filesystem::path& path) {
  LineReader lines(path);
  std::vector<Conversation> out;
  for (std::string line; lines.next(line);) {
    if (line.empty()) continue;
    const std::string place = path.string() + ", line " + std::to_string(lines.number());
    const Json row = parse_json(line, place);
    out.push_back(read_row(JsonReader(row, place)));
  }
  if (out.empty()) throw InputError(path.string() + " has no rows");
  return out;
}

}  // namespace kw
