// A policy that asks a model behind an OpenAI-compatible endpoint (/v1/chat/completions), on this
// machine or elsewhere (docs/policies.md). Samples are requests of their own, made at the same
// time. What goes wrong with one is that sample's fault; what is wrong with all of them (a key that
// is refused, a model that is not there) is an InputError. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "policy/http.h"
#include "policy/policy.h"

namespace kw {

struct OpenAiOptions {
  std::string name = "openai";               // of the policy, and of the family it proposes
  std::string url;                           // of the API: "http://localhost:8000/v1"
  std::string model;                         // as the endpoint calls it
  std::string key;                           // sent as a bearer token; empty: none. Never shown
  std::optional<double> temperature, top_p;  // the endpoint's own where they are not given
  std::optional<double> lone_temperature;    // where one answer is asked for; else `temperature`
  bool bare = false;  // the task's text is all that is said, as to models that are trained here
  int max_tokens = 16384;                         // of one answer; 0: the endpoint's own
  int concurrency = 8;                            // requests under way
  int retries = 5;                                // of one request
  int timeout_seconds = 600;                      // for the answers to one task, retries and all
  double prompt_price = 0, completion_price = 0;  // of a million tokens
};

// Time, for tests. Any thread.
class RetryClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  virtual ~RetryClock() = default;
  virtual TimePoint now() = 0;
  // Or until it is not wanted any more.
  virtual void sleep_until(TimePoint end, const std::function<bool()>& wanted) = 0;
};
std::unique_ptr<RetryClock> make_steady_clock();

// InputError when an option is none. Borrows nothing.
std::unique_ptr<Policy> make_openai(const OpenAiOptions& options,
                                    std::unique_ptr<HttpTransport> transport,
                                    std::unique_ptr<RetryClock> clock);

}  // namespace kw
