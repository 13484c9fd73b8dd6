#include "policy/openai.h"

#include <algorithm>
#include <mutex>

#include "formats/base/error.h"
#include "formats/base/on_threads.h"
#include "formats/base/sha256.h"
#include "policy/chat/prompt.h"
#include "policy/task_key.h"

namespace kw {
namespace {

using TimePoint = RetryClock::TimePoint;

class OpenAi : public Policy {
 public:
  OpenAi(const OpenAiOptions& options, std::unique_ptr<HttpTransport> transport,
         std::unique_ptr<RetryClock> clock)
      : options_(options), client_(options, std::move(transport), std::move(clock)) {}

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
  std::chrono::seconds patience() const override { return client_.patience(); }
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
  Json costs() const override { return client_.costs(); }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed, TimePoint deadline) override;
  void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                    TimePoint deadline, const std::function<void(Proposal)>& take,
                    const std::function<bool()>& wanted) override;

 private:
  using Wanted = ChatClient::Wanted;
  // Asks for `count` answers at once, and calls `done` from any thread for each as soon as it
  // comes.
  void draw(const Prompt& prompt, size_t count, uint64_t seed, TimePoint deadline,
            const Wanted& wanted, const std::function<void(size_t, Proposal)>& done);
  std::optional<Prompt> prompt_of(const Task& task, const DeviceProfile& profile) const;
  Proposal proposal_of(const ChatReply& reply) const;

  const OpenAiOptions options_;
  ChatClient client_;
};

std::vector<Proposal> OpenAi::propose(const Task& task, const DeviceProfile& profile, int count,
                                      uint64_t seed, TimePoint deadline) {
  // Proposals keep their order: putting readable ones first would flatter the first sample.
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

// Returns nothing for a task that cannot be written as text: refusal() says why.
std::optional<Prompt> OpenAi::prompt_of(const Task& task, const DeviceProfile& profile) const {
  try {
    return options_.bare ? Prompt{"", task_text(task, kAskedName)} : make_prompt(task, profile);
  } catch (const InputError&) {
    return {};
  }
}

void OpenAi::draw(const Prompt& prompt, size_t count, uint64_t seed, TimePoint deadline,
                  const Wanted& wanted, const std::function<void(size_t, Proposal)>& done) {
  deadline = std::min(deadline, client_.now() + patience());
  // Each task has a separate stream of random numbers, the same for every policy. With one stream
  // for all, similar tasks would share their random choices, and a mean over tasks would be less
  // certain than their number suggests.
  const uint64_t of_task = std::stoull(sha256_hex(prompt.user).substr(0, 15), nullptr, 16);
  const auto& temperature =
      count == 1 && options_.lone_temperature ? options_.lone_temperature : options_.temperature;
  on_threads(options_.concurrency, count, [&](size_t i) {
    // Small enough for every server's idea of an integer.
    const uint64_t own = (of_task + seed * 1000003 + i) & 0x7fffffff;
    const auto reply = client_.ask(prompt, temperature, own, deadline, wanted);
    if (reply) done(i, proposal_of(*reply));
  });
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

std::unique_ptr<Policy> make_openai(const OpenAiOptions& options,
                                    std::unique_ptr<HttpTransport> transport,
                                    std::unique_ptr<RetryClock> clock) {
  return std::make_unique<OpenAi>(options, std::move(transport), std::move(clock));
}

}  // namespace kw
