// A policy that asks a model at an OpenAI-compatible endpoint (chat_client.h, docs/policies.md).
// Each sample is a separate request, and all are made at the same time. An error of one request is
// that sample's fault. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "policy/chat/chat_client.h"
#include "policy/policy.h"

namespace kw {

struct OpenAiOptions : ChatOptions {
  std::string name = "openai";             // of the policy, and of the family it proposes
  std::optional<double> temperature;       // empty: the endpoint's default
  std::optional<double> lone_temperature;  // if one answer is asked for; empty: `temperature`
  bool bare = false;  // the task's text is the whole prompt, as for models that are trained here
};

// Makes the policy, which borrows nothing. Throws InputError for an option out of range.
std::unique_ptr<Policy> make_openai(const OpenAiOptions& options,
                                    std::unique_ptr<HttpTransport> transport,
                                    std::unique_ptr<RetryClock> clock);

}  // namespace kw
