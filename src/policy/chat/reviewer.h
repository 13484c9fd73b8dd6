// A language model's opinion on whether a candidate does itself what it is asked for, as TritonRL
// asks one (arXiv:2510.17891): delegation to PyTorch, components that are left out, outputs that
// are hard-coded. An opinion and no verdict: what a candidate computes is judged by trials
// (docs/judge.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "policy/chat/chat_client.h"

namespace kw {

struct Opinion {
  bool delegates = false;   // PyTorch computes what a kernel should
  bool omits = false;       // a part of the reference is not computed
  bool hard_codes = false;  // a result does not come from the inputs
  std::string judge;        // whose it is: the model's name at its endpoint
  std::string why;          // in the judge's words, one line
  std::string fault;        // why there is no opinion, in one line; empty otherwise

  bool is_functional() const { return !delegates && !omits && !hard_codes; }
};

// What is asked about a candidate for the reference, a model's file. Both are strings of a JSON
// object, so that no text of theirs is outside of it. `id` must come back: a text that a candidate
// holds, to be taken for the answer where it is quoted, cannot have it.
Prompt judge_prompt(const std::string& reference, const std::string& candidate,
                    const std::string& id);

// The last JSON object of an answer, behind a thought that it begins with, that has `id`; what else
// is said counts for nothing. Never throws; takes time in proportion to the answer's length.
Opinion parse_opinion(std::string_view answer, std::string_view id);

// "functional", or what it is called in place of that, and why; for people.
std::string opinion_text(const Opinion& opinion);

class FunctionalJudge {
 public:
  // InputError when an option is none.
  FunctionalJudge(const ChatOptions& options, std::unique_ptr<HttpTransport> transport,
                  std::unique_ptr<RetryClock> clock);
  // Of what is asked now.
  std::chrono::steady_clock::time_point deadline() const;
  // As ChatClient::ask(). Any thread.
  Opinion judge(const std::string& reference, const std::string& candidate,
                std::chrono::steady_clock::time_point deadline);
  Json costs() const { return client_.costs(); }

 private:
  ChatClient client_;
};

}  // namespace kw
