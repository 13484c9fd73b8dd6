// Rows to learn from: lines of JSON with a conversation each, as chat trainers read them
// (docs/formats/conversations.md). Reading is strict, and InputError names the line. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace kw {

struct Conversation {
  std::string prompt;      // task_text(), or what else the model is asked
  std::string plan, code;  // as parse_answer() takes the answer apart, but plans are whole
  std::string system;      // what is said before the prompt; may be empty
};

// What the assistant says: the plan, and the code in a fence.
std::string answer_text(const std::string& plan, const std::string& code);

// One line, with its end. `about`: an object of further columns.
std::string conversation_line(const Conversation& row, Json about);

// The rows of a file. InputError where it has none, or one is no conversation.
std::vector<Conversation> read_conversations(const std::filesystem::path& path);

}  // namespace kw
