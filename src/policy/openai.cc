#include "policy/openai.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "formats/error.h"
#include "formats/on_threads.h"
#include "formats/sha256.h"
#include "policy/chat_stream.h"
#include "policy/prompt.h"
#include "policy/retry.h"
#include "policy/task_key.h"

namespace kw {
namespace {

using TimePoint = RetryClock::TimePoint;

// Between two questions whether an answer is still wanted.
constexpr std::chrono::milliseconds kLook{100};

class SteadyClock : public RetryClock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  void sleep_until(TimePoint end, const std::function<bool()>& wanted) override {
    while (now() < end && wanted()) std::this_thread::sleep_until(std::min(end, now() + kLook));
  }
};

// The address of chat completions under an API's; one without a path is that of a server.
Url endpoint_of(const std::string& text) {
  Url url = parse_url(text);
  if (url.path.find_first_of("?#") != std::string::npos) return url;
  while (url.path.ends_with('/')) url.path.pop_back();
  if (url.path.ends_with("/chat/completions")) return url;
  url.path += (url.path.empty() ? "/v1" : "") + std::string("/chat/completions");
  return url;
}

// What an endpoint says may be no text, and may repeat the key that it was sent.
std::string fit_to_show(std::string text, const std::string& key) {
  if (!is_utf8(text)) return "a fault whose description is not UTF-8";
  for (size_t at = 0; !key.empty() && (at = text.find(key, at)) != std::string::npos; at += 3) {
    text.replace(at, key.size(), "***");
  }
  return text;
}

// At most so many requests at once, whichever threads make them.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}
  // False where none was free in time, or it is not wanted any more.
  bool acquire(std::chrono::steady_clock::duration patience, const std::function<bool()>& wanted) {
    const auto end = std::chrono::steady_clock::now() + patience;
    std::unique_lock lock(mutex_);
    while (free_ == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= end || !wanted()) return false;
      changed_.wait_until(lock, std::min(end, now + kLook));
    }
    --free_;
    return true;
  }
  void release() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
};

struct Counters {
  int64_t requests = 0, retries = 0, failures = 0, prompt_tokens = 0, completion_tokens = 0;
  double seconds = 0;
};

class OpenAi : public Policy {
 public:
  OpenAi(const OpenAiOptions& options, std::unique_ptr<HttpTransport> transport,
         std::unique_ptr<RetryClock> clock)
      : options_(options),
        url_(endpoint_of(options.url)),
        transport_(std::move(transport)),
        clock_(std::move(clock)),
        slots_(options.concurrency) {
    if (options.model.empty()) throw InputError("no --policy-model for --policy-url");
    for (unsigned char c : options.key) {
      if (c <= ' ' || c > '~')
        throw InputError("the API key has a character that keys do not have");
    }
  }

  std::string name() const override { return options_.name; }
  std::string fingerprint() const override {
    const auto number = [](const std::optional<double>& x) { return x ? Json(*x) : Json(); };
    const Json parts = {{"url", options_.url},
                        {"model", options_.model},
                        {"max_tokens", options_.max_tokens},
                        {"top_p", number(options_.top_p)},
                        {"temperature", number(options_.temperature)},
                        {"lone_temperature", number(options_.lone_temperature)},
                        {"bare", options_.bare},
                        {"prompt", 1}};
    return sha256_hex(parts.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  int at_once() const override { return std::max(2, options_.concurrency); }
  std::chrono::seconds patience() const override {
    return std::chrono::seconds(options_.timeout_seconds);
  }
  std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) override {
    return Guess{options_.name, least_seconds(task, profile)};
  }
  std::string refusal(const Task& task, const DeviceProfile&) override {
    try {
      return task_text(task), "";
    } catch (const InputError& error) {
      return error.what();
    }
  }
  Json costs() const override;
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed, TimePoint deadline) override;
  void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                    TimePoint deadline, const std::function<void(Proposal)>& take,
                    const std::function<bool()>& wanted) override;

 private:
  using Wanted = std::function<bool()>;
  // One try of a request.
  struct Try {
    ChatReply reply;
    std::string fault;
    bool again = false;      // it may go better another time
    bool unreached = false;  // no response came, and not for the deadline
    std::optional<double> retry_after;
  };
  std::string body_of(const Prompt& prompt, uint64_t seed, bool alone) const;
  // Asks for `count` answers at once, each of which is `done` from any thread as soon as it is
  // there.
  void draw(const Prompt& prompt, size_t count, uint64_t seed, TimePoint deadline,
            const Wanted& wanted, const std::function<void(size_t, Proposal)>& done);
  std::optional<Prompt> prompt_of(const Task& task, const DeviceProfile& profile) const;
  std::optional<ChatReply> ask(const std::string& body, uint64_t seed, TimePoint deadline,
                               const Wanted& wanted);
  Try try_once(const std::string& body, TimePoint deadline, const Wanted& wanted);
  Try judged(const HttpResult& result, ChatReader* reader, const std::string& refusal);
  void refuse(int status, const std::string& reason);
  Proposal proposal_of(const ChatReply& reply) const;

  const OpenAiOptions options_;
  const Url url_;
  const std::unique_ptr<HttpTransport> transport_;
  const std::unique_ptr<RetryClock> clock_;
  Slots slots_;
  std::atomic<bool> served_ = false;  // some request was answered
  mutable std::mutex mutex_;          // of what follows
  Counters counters_;
};

Json OpenAi::costs() const {
  const std::lock_guard lock(mutex_);
  Json out = {{"requests", counters_.requests},
              {"retries", counters_.retries},
              {"failures", counters_.failures},
              {"prompt_tokens", counters_.prompt_tokens},
              {"completion_tokens", counters_.completion_tokens},
              {"seconds", counters_.seconds}};
  if (options_.prompt_price > 0 || options_.completion_price > 0) {
    out["cost"] =
        1e-6 * (static_cast<double>(counters_.prompt_tokens) * options_.prompt_price +
                static_cast<double>(counters_.completion_tokens) * options_.completion_price);
  }
  return out;
}

std::vector<Proposal> OpenAi::propose(const Task& task, const DeviceProfile& profile, int count,
                                      uint64_t seed, TimePoint deadline) {
  // In their order: one that favours what can be read would flatter the first sample.
  const std::optional<Prompt> prompt = prompt_of(task, profile);
  if (!prompt) return {};
  std::vector<Proposal> out(static_cast<size_t>(std::max(count, 0)));
  draw(
      *prompt, out.size(), seed, deadline, [] { return true; },
      [&](size_t i, Proposal one) { out[i] = std::move(one); });
  for (Proposal& one : out) one.model_seconds = least_seconds(task, profile);
  return out;
}

void OpenAi::propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                          TimePoint deadline, const std::function<void(Proposal)>& take,
                          const Wanted& wanted) {
  const std::optional<Prompt> prompt = prompt_of(task, profile);
  if (!prompt) return;
  std::mutex one_at_a_time;
  const double seconds = least_seconds(task, profile);
  draw(*prompt, static_cast<size_t>(std::max(count, 0)), seed, deadline, wanted,
       [&](size_t, Proposal one) {
         one.model_seconds = seconds;
         const std::lock_guard lock(one_at_a_time);
         take(std::move(one));
       });
}

// Nothing where the task cannot be told: refusal() says why.
std::optional<Prompt> OpenAi::prompt_of(const Task& task, const DeviceProfile& profile) const {
  try {
    return options_.bare ? Prompt{"", task_text(task, kAskedName)} : make_prompt(task, profile);
  } catch (const InputError&) {
    return {};
  }
}

void OpenAi::draw(const Prompt& prompt, size_t count, uint64_t seed, TimePoint deadline,
                  const Wanted& wanted, const std::function<void(size_t, Proposal)>& done) {
  deadline = std::min(deadline, clock_->now() + patience());
  // Tasks draw apart, and alike whoever is asked: with one stream of numbers for all of them, what
  // is drawn at random would be common to similar tasks, and a mean over tasks less certain than
  // their number says.
  const uint64_t of_task = std::stoull(sha256_hex(prompt.user).substr(0, 15), nullptr, 16);
  on_threads(options_.concurrency, count, [&](size_t i) {
    // Small enough for every server's idea of an integer.
    const uint64_t own = (of_task + seed * 1000003 + i) & 0x7fffffff;
    const auto reply = ask(body_of(prompt, own, count == 1), own, deadline, wanted);
    if (reply) done(i, proposal_of(*reply));
  });
}

std::string OpenAi::body_of(const Prompt& prompt, uint64_t seed, bool alone) const {
  Json messages = Json::array();
  if (!prompt.system.empty()) messages.push_back({{"role", "system"}, {"content", prompt.system}});
  messages.push_back({{"role", "user"}, {"content", prompt.user}});
  const auto& temperature =
      alone && options_.lone_temperature ? options_.lone_temperature : options_.temperature;
  Json body = {{"model", options_.model},
               {"messages", std::move(messages)},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}},
               {"seed", seed}};
  if (temperature) body["temperature"] = *temperature;
  if (options_.top_p) body["top_p"] = *options_.top_p;
  if (options_.max_tokens > 0) body["max_tokens"] = options_.max_tokens;
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The answer to one request, tried again while that helps. A reply with a fault when none came;
// nothing when it is not wanted any more.
std::optional<ChatReply> OpenAi::ask(const std::string& body, uint64_t seed, TimePoint deadline,
                                     const Wanted& wanted) {
  const TimePoint start = clock_->now();
  Try last;
  last.fault = "the deadline came before its turn";
  std::mt19937_64 random(seed);
  int tries = 0;
  if (slots_.acquire(deadline - start, wanted)) {
    struct Release {
      Slots& slots;
      ~Release() { slots.release(); }
    } const release{slots_};
    for (;; ++tries) {
      if (!wanted()) return {};
      last = try_once(body, deadline, wanted);
      if (last.fault.empty() || !last.again || tries == options_.retries) break;
      const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
      const auto wait = std::chrono::duration_cast<TimePoint::duration>(
          std::chrono::duration<double>(retry_seconds(tries, draw, last.retry_after)));
      if (clock_->now() + wait >= deadline) {
        last.fault += "; the deadline comes before another try";
        break;
      }
      clock_->sleep_until(clock_->now() + wait, wanted);
    }
  }
  if (!last.fault.empty() && !wanted()) return {};
  if (last.unreached && !served_) {
    throw EnvironmentError(options_.url + ": " + last.fault + " (is the server up?)");
  }
  last.reply.fault = last.fault;
  const std::lock_guard lock(mutex_);
  ++counters_.requests;
  counters_.retries += tries;
  counters_.failures += !last.fault.empty();
  counters_.seconds += std::chrono::duration<double>(clock_->now() - start).count();
  return last.reply;
}

OpenAi::Try OpenAi::try_once(const std::string& body, TimePoint deadline, const Wanted& wanted) {
  HttpHeaders headers = {{"Content-Type", "application/json"},
                         {"Accept", "text/event-stream, application/json"},
                         {"User-Agent", "kernelwright"}};
  if (!options_.key.empty()) headers.emplace_back("Authorization", "Bearer " + options_.key);
  std::optional<ChatReader> reader;
  std::string refusal;  // the start of a body that is not an answer
  const HttpResult result = transport_->post(
      url_, headers, body, deadline, [&](const HttpHead& head, std::string_view bytes) {
        if (!wanted()) return false;
        if (bytes.empty()) return true;
        if (head.status != 200) {
          refusal += bytes.substr(0, 4096 - std::min<size_t>(refusal.size(), 4096));
          return refusal.size() < 4096;
        }
        if (!reader) reader.emplace(!head.content_type.starts_with("application/json"));
        return reader->feed(bytes);
      });
  Try out = judged(result, reader ? &*reader : nullptr, refusal);
  const std::lock_guard lock(mutex_);
  counters_.prompt_tokens += out.reply.prompt_tokens;  // paid for, whatever became of them
  counters_.completion_tokens += out.reply.completion_tokens;
  return out;
}

OpenAi::Try OpenAi::judged(const HttpResult& result, ChatReader* reader,
                           const std::string& refusal) {
  Try out;
  const int status = result.head.status;
  if (status != 0 && status != 200) {
    ChatReader said(false);
    said.feed(refusal);
    said.finish(false);
    out.fault = "the endpoint answers " + std::to_string(status);
    if (said.reply().fault.starts_with("the endpoint says: ")) {
      out.fault += fit_to_show(said.reply().fault.substr(17), options_.key);
    }
    refuse(status, out.fault);
    out.again = may_pass(status);
    out.retry_after = retry_after_seconds(result.head.retry_after);
    return out;
  }
  if (status == 200) served_ = true;
  const bool whole = reader && reader->finish(!result.fault.empty());
  if (reader) out.reply = reader->reply();
  if (whole) {
    out.fault = fit_to_show(out.reply.fault, options_.key);
    return out;
  }
  out.fault =
      fit_to_show(!result.fault.empty() ? result.fault : "the answer broke off", options_.key);
  out.again = !result.late;
  out.unreached = status == 0 && !result.late;
  return out;
}

// What the first request meets, all will: the user hears of it before the rest is tried.
void OpenAi::refuse(int status, const std::string& reason) {
  if (served_ || (status != 401 && status != 403 && status != 404)) return;
  throw InputError("--policy-url " + options_.url + ": " + reason +
                   (status == 404 ? "; check the address and --policy-model"
                                  : "; check the key in the variable that --policy-key-env names"));
}

Proposal OpenAi::proposal_of(const ChatReply& reply) const {
  Proposal out;
  out.family = options_.name;
  out.drawn = true;
  if (!reply.fault.empty()) {
    out.fault = reply.fault;
    out.unanswered = true;
    return out;
  }
  Answer answer = parse_answer(reply.text);
  out.plan = std::move(answer.plan);
  out.source = std::move(answer.source);
  out.fault = std::move(answer.fault);
  if (reply.finish_reason == "length" && (!out.fault.empty() || answer.open)) {
    out.fault = "the answer is cut off at the most tokens that it may have";
    out.source.clear();
  }
  return out;
}

}  // namespace

std::unique_ptr<RetryClock> make_steady_clock() { return std::make_unique<SteadyClock>(); }

std::unique_ptr<Policy> make_openai(const OpenAiOptions& options,
                                    std::unique_ptr<HttpTransport> transport,
                                    std::unique_ptr<RetryClock> clock) {
  return std::make_unique<OpenAi>(options, std::move(transport), std::move(clock));
}

}  // namespace kw
