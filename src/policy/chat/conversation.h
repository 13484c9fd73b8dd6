// Rows to learn from: lines of JSON with a conversation each, as chat trainers read them
// (docs/formats/conversations.md). Reading is strict; InputError names the line. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace kw {

struct Conversation {
  std::string prompt;      // task_text(), or another question
  std::string plan, code;  // as parse_answer() reads the answer, but plans are not cut
  std::string system;      // the system's message before the prompt; may be empty
  std::string file;        // whether the code does what was judged ("same", ...); empty: not said
};

// Returns the assistant's text: the plan, and the code in a fence.
std::string answer_text(const std::string& plan, const std::string& code);

// Returns one line with its line end. `about` is an object of further columns.
std::string conversation_line(const Conversation& row, Json about);

// Reads the rows of a file. Throws InputError if it has none, or one is no conversation.
std::vector<Conversation> read_conversations(const std::filesystem::path& path);

}  // namespace kw
