// The endpoint's policy with a transport and a clock that tests write. Nothing sleeps.
#include "policy/openai.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "formats/base/error.h"
#include "net/retry.h"
#include "policy/chat/prompt.h"
#include "policy/test_fragment.h"

namespace kw {
namespace {

using std::chrono::seconds;

TEST(Retry, WhatMayPass) {
  for (int status : {0, 408, 429, 500, 502, 503, 529}) EXPECT_TRUE(may_pass(status)) << status;
  for (int status : {200, 400, 401, 403, 404, 422}) EXPECT_FALSE(may_pass(status)) << status;
}

TEST(Retry, WaitsDoubleUpToAMinute) {
  for (double draw : {0.0, 0.3, 1.0}) {
    double before = 0;
    for (int retry = 0; retry < 100; ++retry) {
      const double wait = retry_seconds(retry, draw, {});
      const double whole = std::min(60.0, retry < 6 ? 1.0 * (1 << retry) : 60.0);
      EXPECT_LE(wait, whole);
      EXPECT_GE(wait, whole / 2);
      EXPECT_GE(wait, before);
      before = wait;
    }
  }
  EXPECT_EQ(retry_seconds(0, 0.5, 20.0), 20);
  EXPECT_EQ(retry_seconds(5, 0, 1.0), 32);
}

// Time that passes when it is waited for.
class FakeClock : public RetryClock {
 public:
  TimePoint now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void sleep_until(TimePoint end, const std::function<bool()>&) override {
    const std::lock_guard lock(mutex_);
    waits.push_back(std::chrono::duration<double>(end - now_).count());
    now_ = std::max(now_, end);
  }
  std::vector<double> waits;

 private:
  std::mutex mutex_;
  TimePoint now_ = std::chrono::steady_clock::now();
};

// What comes of one request: a head, pieces of a body, and how it ended.
struct Scripted {
  HttpHead head;
  std::vector<std::string> pieces;
  std::string fault;
  bool late = false, permanent = false, connected = true;
};

class FakeTransport : public HttpTransport {
 public:
  explicit FakeTransport(std::function<Scripted(size_t)> script) : script_(std::move(script)) {}
  HttpResult post(const std::string& url, const HttpHeaders& headers, const std::string& body,
                  std::chrono::steady_clock::time_point, const Take& take) override {
    size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = bodies.size();
      bodies.push_back(body);
      this->url = url;
      for (const auto& [name, value] : headers) sent[name] = value;
    }
    const Scripted scripted = script_(number);
    for (const std::string& piece : scripted.pieces) {
      if (!take(scripted.head, piece)) return {scripted.head, "", false};
    }
    return {scripted.head, scripted.fault, scripted.late, scripted.permanent, scripted.connected};
  }
  std::vector<std::string> bodies;
  std::map<std::string, std::string> sent;
  std::string url;

 private:
  std::function<Scripted(size_t)> script_;
  std::mutex mutex_;
};

Scripted says(const std::string& text, const std::string& finish = "stop") {
  const Json json = {{"choices", {{{"message", {{"content", text}}}, {"finish_reason", finish}}}},
                     {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 20}}}};
  return {{200, "application/json", {}}, {json.dump()}, "", false};
}
Scripted refuses(int status, std::optional<double> retry_after = {}) {
  return {
      {status, "application/json", retry_after}, {"{\"error\": {\"message\": \"no\"}}"}, "", false};
}
Scripted breaks() { return {{0, "", {}}, {}, "the connection broke", false}; }

const std::string kAnswer = "a plan\n```python\nimport torch\nclass ModelNew: pass\n```";

struct Asked {
  std::vector<Proposal> proposals;
  FakeTransport* transport;
  FakeClock* clock;
  std::unique_ptr<Policy> policy;
};
Asked ask(const std::function<Scripted(size_t)>& script, int count = 1, OpenAiOptions options = {},
          seconds patience = seconds(1000)) {
  options.url = "http://host/v1/";
  options.model = "m";
  auto transport = std::make_unique<FakeTransport>(script);
  auto clock = std::make_unique<FakeClock>();
  Asked out{{}, transport.get(), clock.get(), {}};
  const auto deadline = clock->now() + patience;
  out.policy = make_openai(options, std::move(transport), std::move(clock));
  out.proposals =
      out.policy->propose(teacher::softmax_task(4, 8), teacher::profile(), count, 5, deadline);
  return out;
}

TEST(OpenAi, AsksAndReads) {
  OpenAiOptions options;
  options.key = "word";
  options.temperature = 0.25;
  const Asked asked = ask([](size_t) { return says(kAnswer); }, 1, options);
  ASSERT_EQ(asked.proposals.size(), 1u);
  EXPECT_EQ(asked.proposals[0].plan, "a plan");
  EXPECT_EQ(asked.proposals[0].source, "import torch\nclass ModelNew: pass\n");
  EXPECT_GT(asked.proposals[0].model_seconds, 0);
  EXPECT_EQ(asked.transport->url, "http://host/v1/chat/completions");
  EXPECT_EQ(asked.transport->sent.at("Authorization"), "Bearer word");
  const Json body = Json::parse(asked.transport->bodies.at(0));
  EXPECT_EQ(body.at("temperature"), 0.25);
  EXPECT_FALSE(body.contains("top_p"));
  EXPECT_EQ(asked.policy->costs().at("completion_tokens"), 20);
  EXPECT_EQ(asked.policy->fingerprint().find("word"), std::string::npos);
}

TEST(OpenAi, ABareTaskIsAllThatIsSaid) {
  OpenAiOptions options;
  options.name = "local";
  options.bare = true;
  options.temperature = 0.8;
  options.lone_temperature = 0;
  const Asked one = ask([](size_t) { return says(kAnswer); }, 1, options);
  EXPECT_EQ(one.policy->name(), "local");
  EXPECT_EQ(one.proposals.at(0).family, "local");
  const Json body = Json::parse(one.transport->bodies.at(0));
  ASSERT_EQ(body.at("messages").size(), 1u);
  EXPECT_EQ(body["messages"][0].at("role"), "user");
  EXPECT_EQ(body["messages"][0].at("content"), task_text(teacher::softmax_task(4, 8), kAskedName));
  EXPECT_EQ(body.at("temperature"), 0);
  const Asked two = ask([](size_t) { return says(kAnswer); }, 2, options);
  for (const std::string& text : two.transport->bodies) {
    EXPECT_EQ(Json::parse(text).at("temperature"), 0.8);
  }
}

TEST(OpenAi, TriesAgainWhatMayPass) {
  const Scripted replies[] = {refuses(429, 7), breaks(), refuses(503), says(kAnswer)};
  const Asked asked = ask([&](size_t n) { return replies[n]; });
  ASSERT_EQ(asked.proposals.size(), 1u);
  EXPECT_EQ(asked.proposals[0].fault, "");
  const std::vector<double>& waits = asked.clock->waits;
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[0], 7);
  EXPECT_TRUE(waits[1] >= 1 && waits[1] <= 2 && waits[2] >= 2 && waits[2] <= 4);
  const Json costs = asked.policy->costs();
  EXPECT_EQ(costs.at("requests"), 1);
  EXPECT_EQ(costs.at("retries"), 3);
  EXPECT_EQ(costs.at("failures"), 0);
}

TEST(OpenAi, GivesUpAfterItsRetries) {
  OpenAiOptions options;
  options.retries = 2;
  const Asked asked = ask([](size_t) { return refuses(500); }, 1, options);
  EXPECT_EQ(asked.transport->bodies.size(), 3u);
  EXPECT_TRUE(asked.proposals.at(0).unanswered);
  EXPECT_NE(asked.proposals[0].fault.find("500: no"), std::string::npos);
  EXPECT_EQ(asked.policy->costs().at("failures"), 1);
}

TEST(OpenAi, DoesNotTryAgainWhatWillNotPass) {
  const Asked asked = ask([](size_t) { return refuses(400); });
  EXPECT_EQ(asked.transport->bodies.size(), 1u);
  const Asked garbage = ask([](size_t) {
    return Scripted{{200, "application/json", {}}, {"{oh"}, "", false};
  });
  EXPECT_EQ(garbage.transport->bodies.size(), 1u);
  EXPECT_TRUE(garbage.proposals.at(0).unanswered);
}

TEST(OpenAi, WaitsForNothingBeyondTheDeadline) {
  const Asked asked = ask([](size_t) { return refuses(429, 50); }, 1, {}, seconds(49));
  EXPECT_TRUE(asked.clock->waits.empty());
  EXPECT_NE(asked.proposals.at(0).fault.find("deadline"), std::string::npos);
  const Asked late = ask([](size_t) {
    return Scripted{{200, "text/event-stream", {}}, {": hm\n"}, "the deadline came", true};
  });
  EXPECT_EQ(late.transport->bodies.size(), 1u);
  EXPECT_TRUE(late.proposals.at(0).unanswered);
}

TEST(OpenAi, ARefusalWhoseBodyStallsIsTriedAgain) {
  // A transport that reports nothing for an hour, unless it is told to stop.
  class Stalling : public HttpTransport {
   public:
    explicit Stalling(FakeClock& clock) : clock_(clock) {}
    HttpResult post(const std::string&, const HttpHeaders&, const std::string&,
                    std::chrono::steady_clock::time_point, const Take& take) override {
      if (++tries > 1) {
        const Scripted last = says(kAnswer);
        take(last.head, last.pieces[0]);
        return {last.head, "", false};
      }
      const HttpHead head{503, "", {}};
      for (int second = 0; second < 3600; ++second) {
        if (!take(head, "")) return {head, "", false};
        clock_.sleep_until(clock_.now() + seconds(1), [] { return true; });
      }
      return {head, "the deadline came", true};
    }
    int tries = 0;

   private:
    FakeClock& clock_;
  };
  auto clock = std::make_unique<FakeClock>();
  auto transport = std::make_unique<Stalling>(*clock);
  const Stalling& stalling = *transport;
  OpenAiOptions options;
  options.url = "http://host/v1/";
  options.model = "m";
  const auto start = clock->now();
  FakeClock& time = *clock;
  const auto policy = make_openai(options, std::move(transport), std::move(clock));
  const auto proposals =
      policy->propose(teacher::softmax_task(4, 8), teacher::profile(), 1, 5, start + seconds(1000));
  EXPECT_EQ(stalling.tries, 2);
  EXPECT_EQ(proposals.at(0).fault, "");
  EXPECT_LT(time.now() - start, seconds(20));
}

// Returns what ends the run, and how often it was tried before.
std::pair<std::string, size_t> unreached(const Scripted& first, const Scripted& then) {
  size_t tries = 0;
  OpenAiOptions options;
  options.retries = 1;
  try {
    ask([&](size_t n) { return tries = n + 1, n == 0 ? first : then; }, 1, options);
  } catch (const EnvironmentError& error) {
    return {error.what(), tries};
  }
  return {"", tries};
}

TEST(OpenAi, AnEndpointThatIsNeverReachedEndsTheRun) {
  const Scripted no_connection = {{}, {}, "no connection", false, false, false};
  const Scripted late = {{}, {}, "the deadline came", true, false, false};
  for (const Scripted& last : {no_connection, late}) {
    const auto [fault, tries] = unreached(no_connection, last);
    EXPECT_EQ(tries, 2u);
    EXPECT_NE(fault.find("is the server up?"), std::string::npos) << fault;
  }
  // A server that has begun to take requests is up, and slow.
  const Scripted slow = {{}, {}, "the deadline came", true};
  EXPECT_EQ(unreached(no_connection, slow), (std::pair{std::string(), size_t{2}}));
}

TEST(OpenAi, AWrongSetupIsToldAtOnce) {
  const Scripted wrong = {{}, {}, "its certificate is not accepted", false, true, false};
  const auto [fault, tries] = unreached(wrong, wrong);
  EXPECT_EQ(tries, 1u);
  EXPECT_NE(fault.find("certificate"), std::string::npos) << fault;
  EXPECT_EQ(fault.find("is the server up?"), std::string::npos) << fault;
  // What has served is tried again: a handshake may also break with its connection.
  OpenAiOptions options;
  options.concurrency = 1;
  const Asked asked = ask([&](size_t n) { return n == 1 ? wrong : says(kAnswer); }, 2, options);
  EXPECT_EQ(asked.transport->bodies.size(), 3u);
  EXPECT_EQ(asked.proposals.at(1).fault, "");
}

TEST(OpenAi, ABrokenStreamIsAskedForAgainWithTheSameSeed) {
  const Asked asked = ask([](size_t n) {
    if (n == 0) {
      return Scripted{{200, "text/event-stream", {}},
                      {"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"},
                      "the connection ended too early",
                      false};
    }
    return says(kAnswer);
  });
  ASSERT_EQ(asked.transport->bodies.size(), 2u);
  EXPECT_EQ(asked.transport->bodies[0], asked.transport->bodies[1]);
  EXPECT_EQ(asked.proposals.at(0).fault, "");
}

TEST(OpenAi, SamplesAreRequestsOfTheirOwn) {
  OpenAiOptions options;
  options.concurrency = 3;
  const Asked asked = ask([](size_t n) { return says(n % 2 ? "no code" : kAnswer); }, 10, options);
  ASSERT_EQ(asked.proposals.size(), 10u);
  std::set<std::string> different(asked.transport->bodies.begin(), asked.transport->bodies.end());
  EXPECT_EQ(different.size(), 10u);  // by their seeds
  EXPECT_EQ(std::count_if(asked.proposals.begin(), asked.proposals.end(),
                          [](const Proposal& p) { return p.fault.empty(); }),
            5);
  for (const Proposal& proposal : asked.proposals) EXPECT_FALSE(proposal.unanswered);
  // The same seeds another time, and others for another task.
  const Asked again = ask([](size_t) { return says(kAnswer); }, 10, options);
  EXPECT_EQ(std::set<std::string>(again.transport->bodies.begin(), again.transport->bodies.end()),
            different);
  again.policy->propose(teacher::softmax_task(4, 9), teacher::profile(), 10, 5,
                        again.clock->now() + seconds(1000));
  std::set<int64_t> seeds;
  for (const std::string& body : again.transport->bodies) {
    seeds.insert(Json::parse(body).at("seed").get<int64_t>());
  }
  EXPECT_EQ(seeds.size(), 20u);
}

TEST(OpenAi, GivesEachAnswerWhenItComes) {
  // The second answer never comes: its transport looks now and then whether it is wanted.
  class Hanging : public HttpTransport {
   public:
    HttpResult post(const std::string&, const HttpHeaders&, const std::string&,
                    std::chrono::steady_clock::time_point, const Take& take) override {
      if (asked++ == 1) {
        while (take({}, "")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return {};
      }
      const Scripted said = says(kAnswer);
      take(said.head, said.pieces[0]);
      return {said.head, "", false};
    }
    std::atomic<int> asked = 0;
  };
  OpenAiOptions options;
  options.url = "http://host/v1/";
  options.model = "m";
  auto transport = std::make_unique<Hanging>();
  Hanging& asked = *transport;
  const auto policy = make_openai(options, std::move(transport), make_steady_clock());
  std::atomic<int> come = 0;
  policy->propose_each(
      teacher::softmax_task(4, 8), teacher::profile(), 3, 5,
      std::chrono::steady_clock::now() + seconds(100),
      [&](Proposal one) {
        EXPECT_EQ(one.fault, "");
        EXPECT_GT(one.model_seconds, 0);
        ++come;
      },
      [&] { return come < 2; });
  EXPECT_EQ(come, 2);
  EXPECT_EQ(asked.asked, 3);  // it is not asked for again
  EXPECT_EQ(policy->costs().at("failures"), 0);
}

TEST(OpenAi, WhatAllRequestsWouldMeetIsThrown) {
  for (int status : {401, 403, 404}) {
    EXPECT_THROW(ask([&](size_t) { return refuses(status); }), InputError) << status;
  }
  const Scripted page = {
      {200, "text/html; charset=utf-8", {}}, {"<html>Welcome</html>"}, "", false};
  EXPECT_THROW(ask([&](size_t) { return page; }), InputError);
  EXPECT_THROW(ask([](size_t) { return breaks(); }), EnvironmentError);
  OpenAiOptions options;  // one after another
  options.concurrency = 1;
  const Asked asked =
      ask([](size_t n) { return n == 0 ? says(kAnswer) : refuses(403); }, 2, options);
  EXPECT_TRUE(asked.proposals.at(1).unanswered);
  const Asked then = ask([&](size_t n) { return n == 0 ? says(kAnswer) : page; }, 2, options);
  EXPECT_TRUE(then.proposals.at(1).unanswered);
  EXPECT_NE(then.proposals[1].fault.find("answers with text/html"), std::string::npos);
  EXPECT_EQ(then.transport->bodies.size(), 2u);  // it is not tried again
  // What breaks off is, whatever it is called; an empty answer is told.
  const Scripted torn = {{200, "text/plain", {}}, {"data: {"}, "the connection broke", false};
  const Asked again = ask([&](size_t n) { return n == 0 ? torn : says(kAnswer); }, 1, options);
  EXPECT_EQ(again.proposals.at(0).fault, "");
  const Scripted empty = {{200, "application/json", {}}, {}, "", false};
  options.retries = 0;
  EXPECT_NE(ask([&](size_t) { return empty; }, 1, options).proposals.at(0).fault.find("is empty"),
            std::string::npos);
}

TEST(OpenAi, SaysWhenAnAnswerIsCutOff) {
  const std::string bare = "import torch\nclass ModelNew(torch.nn.Module):\n    def for";
  for (const std::string& text : {std::string("```python\nimport torch"), bare}) {
    const Asked asked = ask([&](size_t) { return says(text, "length"); });
    EXPECT_NE(asked.proposals.at(0).fault.find("cut off"), std::string::npos);
    EXPECT_EQ(asked.proposals[0].source, "");
    EXPECT_FALSE(asked.proposals[0].unanswered);
  }
  // What is whole, whatever follows it, and what ended by itself.
  const std::string whole = "```python\n" + bare + "\n```\nAnd";
  EXPECT_EQ(ask([&](size_t) { return says(whole, "length"); }).proposals.at(0).fault, "");
  EXPECT_EQ(ask([&](size_t) { return says(bare, "stop"); }).proposals.at(0).source, bare);
}

TEST(OpenAi, AnEndpointThatRepeatsTheKeyIsNotRepeated) {
  OpenAiOptions options;
  options.key = "secret-word";
  const std::string text = "{\"error\": {\"message\": \"bad key secret-word, secret-word!\"}}";
  const auto reply = [&](int status) {
    return Scripted{{status, "application/json", {}}, {text}, "", false};
  };
  const Asked asked = ask([&](size_t) { return reply(400); }, 1, options);
  EXPECT_NE(asked.proposals.at(0).fault.find("bad key ***, ***!"), std::string::npos);
  try {
    ask([&](size_t) { return reply(401); }, 1, options);
    FAIL() << "not thrown";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
  }
}

TEST(OpenAi, AKeyWithALineEndIsRefused) {
  OpenAiOptions options;
  options.key = "x\r\nEvil: y";
  EXPECT_THROW(ask([](size_t) { return says(""); }, 1, options), InputError);
}

}  // namespace
}  // namespace kw
