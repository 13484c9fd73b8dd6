#include "policy/chat/chat_client.h"

#include <algorithm>
#include <cctype>
#include <random>
#include <thread>

#include "formats/base/error.h"
#include "net/retry.h"
#include "worker/process/process.h"

namespace kw {
namespace {

// The time between two questions whether an answer is still wanted.
constexpr std::chrono::milliseconds kLook{100};
// A refusal's body is worth no more than this: its status says whether to try again.
constexpr std::chrono::seconds kRefusalPatience{5};

class SteadyClock : public RetryClock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  void sleep_until(TimePoint end, const std::function<bool()>& wanted) override {
    while (now() < end && wanted()) std::this_thread::sleep_until(std::min(end, now() + kLook));
  }
};

// Returns the address of chat completions under an API's address. An address without a path is a
// server's.
std::string endpoint_of(const std::string& text) {
  std::string url = checked_url(text);
  if (url.find_first_of("?#") != std::string::npos) return url;
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with("/chat/completions")) return url;
  const bool has_path = url.find('/', url.find("://") + 3) != std::string::npos;
  return url + (has_path ? "" : "/v1") + "/chat/completions";
}

// Returns whether a body is a web page, which some servers send to any request.
bool is_page(std::string content_type) {
  std::ranges::transform(content_type, content_type.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return content_type.starts_with("text/html");
}

// Makes an endpoint's message safe to show: it may be no text, and may repeat the key that it got.
std::string fit_to_show(std::string text, const std::string& key) {
  if (!is_utf8(text)) return "a fault whose description is not UTF-8";
  for (size_t at = 0; !key.empty() && (at = text.find(key, at)) != std::string::npos; at += 3) {
    text.replace(at, key.size(), "***");
  }
  return text;
}

}  // namespace

std::unique_ptr<RetryClock> make_steady_clock() { return std::make_unique<SteadyClock>(); }

bool Slots::acquire(std::chrono::steady_clock::duration patience,
                    const std::function<bool()>& wanted) {
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

void Slots::release() {
  {
    const std::lock_guard lock(mutex_);
    ++free_;
  }
  changed_.notify_one();
}

ChatClient::ChatClient(ChatOptions options, std::unique_ptr<HttpTransport> transport,
                       std::unique_ptr<RetryClock> clock)
    : options_(std::move(options)),
      url_(endpoint_of(options_.url)),
      transport_(std::move(transport)),
      clock_(std::move(clock)),
      slots_(options_.concurrency) {
  if (options_.model.empty())
    throw InputError("no " + options_.flags + "-model for " + options_.flags + "-url");
  for (unsigned char c : options_.key) {
    if (c <= ' ' || c > '~') throw InputError("the API key has a character that keys do not have");
  }
}

Json ChatClient::costs() const {
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

std::string ChatClient::body_of(const Prompt& prompt, std::optional<double> temperature,
                                uint64_t seed) const {
  Json messages = Json::array();
  if (!prompt.system.empty()) messages.push_back({{"role", "system"}, {"content", prompt.system}});
  messages.push_back({{"role", "user"}, {"content", prompt.user}});
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

std::optional<ChatReply> ChatClient::ask(const Prompt& prompt, std::optional<double> temperature,
                                         uint64_t seed, TimePoint deadline, const Wanted& wanted) {
  const std::string body = body_of(prompt, temperature, seed);
  const TimePoint start = clock_->now();
  Try last;
  last.fault = "the deadline came before its turn";
  bool late = true, unreached = false;
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
      // A deadline that ends yet another wait for a connection does not change the verdict.
      unreached = last.unreached || (unreached && !last.connected);
      late = clock_->now() >= deadline;
      if (last.fault.empty() || !last.again || tries == options_.retries) break;
      const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
      const auto wait = std::chrono::duration_cast<TimePoint::duration>(
          std::chrono::duration<double>(retry_seconds(tries, draw, last.retry_after)));
      if (clock_->now() + wait >= deadline) {
        last.fault += "; the deadline comes before another try";
        late = true;
        break;
      }
      clock_->sleep_until(clock_->now() + wait, wanted);
    }
  }
  if (!last.fault.empty() && !wanted()) return {};
  if (late && !last.fault.empty()) last.fault += " (" + options_.flags + "-timeout)";
  if (unreached && !served_) {
    throw EnvironmentError(options_.url + ": " + last.fault +
                           (last.permanent ? "" : " (is the server up?)"));
  }
  last.reply.fault = last.fault;
  const std::lock_guard lock(mutex_);
  ++counters_.requests;
  counters_.retries += tries;
  counters_.failures += !last.fault.empty();
  counters_.seconds += std::chrono::duration<double>(clock_->now() - start).count();
  return last.reply;
}

ChatClient::Try ChatClient::try_once(const std::string& body, TimePoint deadline,
                                     const Wanted& wanted) {
  HttpHeaders headers = {{"Content-Type", "application/json"},
                         {"Accept", "text/event-stream, application/json"},
                         {"User-Agent", "kernelwright"}};
  if (!options_.key.empty()) headers.emplace_back("Authorization", "Bearer " + options_.key);
  std::optional<ChatReader> reader;
  std::string refusal;  // the start of a body that is not an answer
  std::optional<TimePoint> refused;
  const HttpResult result = transport_->post(
      url_, headers, body, deadline, [&](const HttpHead& head, std::string_view bytes) {
        if (!wanted()) return false;
        if (head.status != 0 && head.status != 200) {
          if (!refused) refused = clock_->now();
          if (clock_->now() >= *refused + kRefusalPatience) return false;
          refusal += bytes.substr(0, 4096 - std::min<size_t>(refusal.size(), 4096));
          return refusal.size() < 4096;
        }
        if (bytes.empty()) return true;
        if (!reader) reader.emplace(!head.content_type.starts_with("application/json"));
        return reader->feed(bytes);
      });
  Try out = judged(result, reader ? &*reader : nullptr, refusal);
  const std::lock_guard lock(mutex_);
  counters_.prompt_tokens += out.reply.prompt_tokens;  // they are paid for in any case
  counters_.completion_tokens += out.reply.completion_tokens;
  return out;
}

ChatClient::Try ChatClient::judged(const HttpResult& result, ChatReader* reader,
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
    out.retry_after = result.head.retry_after;
    return out;
  }
  const bool whole = reader && reader->finish(!result.fault.empty());
  if (status == 200 && !whole && is_page(result.head.content_type)) {
    out.fault = "the endpoint answers with " +
                one_line(fit_to_show(result.head.content_type, options_.key), 100);
    refuse(404, out.fault);
    return out;
  }
  if (status == 200) served_ = true;
  if (reader) out.reply = reader->reply();
  if (whole) {
    out.fault = fit_to_show(out.reply.fault, options_.key);
    return out;
  }
  out.fault = !result.fault.empty() ? fit_to_show(result.fault, options_.key)
              : reader              ? "the answer broke off"
                                    : "the answer is empty";
  out.permanent = result.permanent && !served_;  // a setup that has served once is right
  out.again = !result.late && !out.permanent;
  out.unreached = status == 0 && !result.late;
  out.connected = result.connected;
  return out;
}

// Refuses what the first request shows to be wrong with all: the user is told before the rest is
// tried.
void ChatClient::refuse(int status, const std::string& reason) {
  if (served_ || (status != 401 && status != 403 && status != 404)) return;
  throw InputError(options_.flags + "-url " + options_.url + ": " + reason +
                   (status == 404 ? "; check the address and " + options_.flags + "-model"
                                  : "; check the key in the variable that " + options_.flags +
                                        "-key-env names"));
}

}  // namespace kw
