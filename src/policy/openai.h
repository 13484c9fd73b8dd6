// A policy that asks a model behind an OpenAI-compatible endpoint (chat_client.h,
// docs/policies.md). Samples are requests of their own, made at the same time. What goes wrong with
// one is that sample's fault. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "policy/chat/chat_client.h"
#include "policy/policy.h"

namespace kw {

struct OpenAiOptions : ChatOptions {
  std::string name = "openai";             // of the policy, and of the family it proposes
  std::optional<double> temperature;       // the endpoint's own where it is not given
  std::optional<double> lone_temperature;  // where one answer is asked for; else `temperature`
  bool bare = false;  // the task's text is all that is said, as to models that are trained here
};

// InputError when an option is none. Borrows nothing.
std::unique_ptr<Policy> make_openai(const OpenAiOptions& options,
                                    std::unique_ptr<HttpTransport> transport,
                                    std::unique_ptr<RetryClock> clock);

}  // namespace kw
