// A client of an OpenAI-compatible endpoint (/v1/chat/completions), on this machine or elsewhere:
// requests at once, tried again while that helps, with their costs (docs/policies.md). What goes
// wrong with one is its reply's fault; what is wrong with all of them (a key that is refused, a
// model that is not there) is an InputError. Any thread.
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
  std::optional<double> top_p;  // the endpoint's own where it is not given
  int max_tokens = 16384;       // of one answer; 0: the endpoint's own
  int concurrency = 8;          // requests under way
  int retries = 5;              // of one request
  int timeout_seconds = 600;    // for the answers to one task, retries and all
  double prompt_price = 0, completion_price = 0;  // of a million tokens
  std::string flags = "--policy";  // how the options' flags begin, for messages: --policy-url
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

// At most so many at once, whichever threads they are.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}
  // False where none was free in time, or it is not wanted any more.
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

  // InputError when an option is none.
  ChatClient(ChatOptions options, std::unique_ptr<HttpTransport> transport,
             std::unique_ptr<RetryClock> clock);

  const ChatOptions& options() const { return options_; }
  TimePoint now() const { return clock_->now(); }
  std::chrono::seconds patience() const { return std::chrono::seconds(options_.timeout_seconds); }

  // The answer to one question; with a fault when none came, nothing when it is not wanted any
  // more. `temperature`: the endpoint's own where it is not given. EnvironmentError where the
  // endpoint was never reached.
  std::optional<ChatReply> ask(const Prompt& prompt, std::optional<double> temperature,
                               uint64_t seed, TimePoint deadline, const Wanted& wanted);
  // requests, retries, failures, tokens, seconds; cost where there are prices.
  Json costs() const;

 private:
  // One try of a request.
  struct Try {
    ChatReply reply;
    std::string fault;
    bool again = false;      // it may go better another time
    bool unreached = false;  // no response came, and not for the deadline
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
  const Url url_;
  const std::unique_ptr<HttpTransport> transport_;
  const std::unique_ptr<RetryClock> clock_;
  Slots slots_;
  std::atomic<bool> served_ = false;  // some request was answered
  mutable std::mutex mutex_;          // of what follows
  Counters counters_;
};

}  // namespace kw
