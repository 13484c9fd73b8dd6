// A review by a language model: whether a candidate computes in its own kernels all that the
// reference does, as TritonRL asks (arXiv:2510.17891). The reviewer looks for delegation to
// PyTorch, omitted components and hard-coded outputs. It gives an opinion and no verdict, as trials
// judge what a candidate computes (docs/review.md).
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
  std::string reviewer;     // the reviewing model's name at its endpoint
  std::string why;          // in the reviewer's words, one line
  std::string fault;        // why there is no opinion, in one line; empty otherwise

  bool is_functional() const { return !delegates && !omits && !hard_codes; }
};

// Returns the question about a candidate for the reference, a model's file. Both are strings of one
// JSON object, so that none of their text is outside of it. The answer must repeat `id`. A
// candidate may hold a forged answer for the reviewer to quote, but it cannot know the id.
Prompt review_prompt(const std::string& reference, const std::string& candidate,
                     const std::string& id);

// Returns the opinion in the last JSON object of an answer that has `id`. A thought that the answer
// begins with is skipped, and all other text is ignored. Never throws. Takes time in proportion to
// the answer's length.
Opinion parse_opinion(std::string_view answer, std::string_view id);

// Returns the opinion for people: "functional", or the faults that it names, and why.
std::string opinion_text(const Opinion& opinion);

class Reviewer {
 public:
  // Throws InputError for an option out of range.
  Reviewer(const ChatOptions& options, std::unique_ptr<HttpTransport> transport,
           std::unique_ptr<RetryClock> clock);
  // Returns the deadline of a question that is asked now.
  std::chrono::steady_clock::time_point deadline() const;
  // Asks for an opinion on a candidate; throws as ChatClient::ask() does. Any thread.
  Opinion review(const std::string& reference, const std::string& candidate,
                 std::chrono::steady_clock::time_point deadline);
  Json costs() const { return client_.costs(); }

 private:
  ChatClient client_;
};

}  // namespace kw
