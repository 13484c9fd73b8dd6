// A client of an OpenAI-compatible endpoint (/v1/chat/completions) on this machine or another. It
// makes several requests at once, retries while that helps, and counts costs (docs/policies.md). An
// error of one request is its reply's fault. An error of all requests, such as a refused key or a
// missing model, is an InputError. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "formats/json.h"
#include "net/http.h"
#include "policy/chat/chat_stream.h"
#include "policy/chat/prompt.h"

namespace kw {

struct ChatOptions {
  std::string url;              // of the API: "http://localhost:8000/v1"
  std::string model;            // as the endpoint calls it
  std::string key;              // sent as a bearer token; empty: none. Never shown
  std::optional<double> top_p;  // empty: the endpoint's default
  int max_tokens = 16384;       // of one answer; 0: the endpoint's default
  int concurrency = 8;          // requests under way
  int retries = 5;              // of one request
  int timeout_seconds = 600;    // for the answers to one task, with retries
  double prompt_price = 0, completion_price = 0;  // of a million tokens
  std::string flags = "--policy";  // start of the flags' names in messages: --policy-url
};

// Time, for tests. Any thread.
class RetryClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  virtual ~RetryClock() = default;
  virtual TimePoint now() = 0;
  // Returns at `end`, or when `wanted()` returns false.
  virtual void sleep_until(TimePoint end, const std::function<bool()>& wanted) = 0;
};
std::unique_ptr<RetryClock> make_steady_clock();

// Limits how many threads do something at once.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}
  // Returns false if no slot was free in time, or it is not wanted any more.
  bool acquire(std::chrono::steady_clock::duration patience, const std::function<bool()>& wanted);
  void release();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
};

class ChatClient {
 public:
  using TimePoint = RetryClock::TimePoint;
  using Wanted = std::function<bool()>;

  // Throws InputError for an option out of range.
  ChatClient(ChatOptions options, std::unique_ptr<HttpTransport> transport,
             std::unique_ptr<RetryClock> clock);

  const ChatOptions& options() const { return options_; }
  TimePoint now() const { return clock_->now(); }
  std::chrono::seconds patience() const { return std::chrono::seconds(options_.timeout_seconds); }

  // Returns the answer to one question, with a fault if none came, or nothing if it is not wanted
  // any more. An empty `temperature` means the endpoint's default. Throws EnvironmentError if the
  // endpoint was never reached.
  std::optional<ChatReply> ask(const Prompt& prompt, std::optional<double> temperature,
                               uint64_t seed, TimePoint deadline, const Wanted& wanted);
  // Returns counts of requests, retries, failures, tokens and seconds, and the cost if there are
  // prices.
  Json costs() const;

 private:
  // One try of a request.
  struct Try {
    ChatReply reply;
    std::string fault;
    bool again = false;      // another try may succeed
    bool unreached = false;  // no response came, for another reason than the deadline
    bool connected = true, permanent = false;  // as HttpResult has them
    std::optional<double> retry_after;
  };
  struct Counters {
    int64_t requests = 0, retries = 0, failures = 0, prompt_tokens = 0, completion_tokens = 0;
    double seconds = 0;
  };
  std::string body_of(const Prompt& prompt, std::optional<double> temperature, uint64_t seed) const;
  Try try_once(const std::string& body, TimePoint deadline, const Wanted& wanted);
  Try judged(const HttpResult& result, ChatReader* reader, const std::string& refusal);
  void refuse(int status, const std::string& reason);

  const ChatOptions options_;
  const std::string url_;
  const std::unique_ptr<HttpTransport> transport_;
  const std::unique_ptr<RetryClock> clock_;
  Slots slots_;
  std::atomic<bool> served_ = false;  // some request was answered
  mutable std::mutex mutex_;          // of what follows
  Counters counters_;
};

}  // namespace kw
