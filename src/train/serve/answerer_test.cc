// Answers of a tiny model, by several threads and over the socket, against the generator's own.
#include "train/serve/answerer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "formats/base/error.h"
#include "net/http.h"
#include "policy/chat/chat_stream.h"
#include "train/serve/serve.h"
#include "worker/test_folder.h"

namespace kw::train {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

std::string tokenizer_text() {
  std::ostringstream out;
  out << std::ifstream(KW_SOURCE_DIR "/tests/vectors/tokenizers/trained/tokenizer.json").rdbuf();
  return std::move(out).str();
}

class Answering : public ::testing::Test {
 protected:
  Answering() : tokenizer_(tokenizer_text(), "tokenizer.json"), format_(tokenizer_) {
    write_model(format_.end());
    folder_.write("tokenizer.json", tokenizer_text());
  }

  void write_model(TokenId end) {
    ModelConfig config;
    config.vocabulary = tokenizer_.size();
    config.width = 32, config.layers = 2, config.heads = 4, config.kv_heads = 2;
    config.head_width = 8, config.inner = 48, config.context = 128, config.tied = true;
    config.qk_norm = true;
    config.end_tokens = {end};
    const Transformer model(config, at::kFloat, 3);
    for (const auto& [name, parameter] : model.parameters()) {
      if (name.ends_with("embed_tokens.weight")) parameter.mul_(8);  // sharper
    }
    model.save(folder_.path(), 1 << 20);
  }
  // What the generator makes of it, alone.
  Generation alone(const ChatRequest& asked) const {
    const Transformer model(folder_.path(), at::kFloat);
    GenerationRequest request;
    request.prompt = format_.prompt(asked.text);
    request.max_tokens = asked.max_tokens;
    request.temperature = asked.temperature;
    request.top_p = asked.top_p;
    request.seed = *asked.seed;
    return Generator(model, tokenizer_, {.rows = 1}).run({request})[0];
  }
  static ChatRequest request(uint64_t seed) {
    ChatRequest out;
    out.text = "def forward(a" + std::to_string(seed % 3) + ")";
    out.max_tokens = 20 + static_cast<int64_t>(seed);
    out.temperature = seed % 2 ? 1 : 0;
    out.top_p = seed % 4 == 3 ? 0.5 : 1;
    out.seed = seed;
    return out;
  }
  std::string json_of(const std::string& text) const {
    Json body = {{"messages", {{{"role", "user"}, {"content", text}}}}, {"max_tokens", 5}};
    return body.dump();
  }

  TestFolder folder_;
  const Tokenizer tokenizer_;
  const AnswerFormat format_;
};

TEST_F(Answering, WhatNobodyWantsIsNotDrawnOn) {
  Answerer answerer(folder_.path(), {.rows = 1, .device = "cpu"});
  std::atomic<int> looks{0};
  ChatRequest endless = request(1);
  endless.max_tokens = 0;
  // One row, and more requests than it could ever do within a look each.
  std::vector<std::thread> clients;
  std::atomic<int> refused{0}, answered{0};
  for (int i = 0; i < 400; ++i) {
    clients.emplace_back([&] {
      try {
        answerer.answer(endless, [&] { return ++looks < 0; });
        ++answered;
      } catch (const EnvironmentError& error) {
        EXPECT_NE(std::string(error.what()).find("nobody waits"), std::string::npos);
        ++refused;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(refused + answered, 400);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(answerer.answer(request(2)).text,
            answerer.answer(request(2), [] { return true; }).text);
}

TEST(Rows, AreNoMoreThanMemoryHolds) {
  EXPECT_EQ(rows_that_fit(256, int64_t{1} << 26, 24e9), 89);  // 6e9 / 67,108,864
  EXPECT_EQ(rows_that_fit(64, int64_t{1} << 26, 24e9), 64);
  EXPECT_EQ(rows_that_fit(16, int64_t{1} << 40, 24e9), 1);
}

TEST_F(Answering, HasTheRowsThatMemoryHolds) {
  const double row = 2 * 2 * 2 * 8 * 128 * sizeof(float);  // keys and values of 2 layers, 2 heads
  AnswererOptions options{.rows = 200, .device = "cpu", .memory = 4 * 3.5 * row};
  const auto rows = [&] { return Answerer(folder_.path(), options).description(); };
  EXPECT_NE(rows().find(" 3 rows of 128 "), std::string::npos) << rows();
  options.memory = 1e12;
  EXPECT_NE(rows().find(" 200 rows of 128 "), std::string::npos) << rows();
}

TEST_F(Answering, ManyThreadsGetTheirOwnAnswers) {
  Answerer answerer(folder_.path(), {.rows = 4, .device = "cpu"});
  std::vector<std::future<ChatCompletion>> asked;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    asked.push_back(
        std::async(std::launch::async, [&, seed] { return answerer.answer(request(seed)); }));
  }
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const ChatCompletion found = asked[seed].get();
    const Generation expected = alone(request(seed));
    EXPECT_EQ(found.text, format_.text(expected.tokens)) << seed;
    EXPECT_EQ(found.cut, expected.end == Generation::End::kLength) << seed;
    EXPECT_EQ(found.completion_tokens, static_cast<int64_t>(expected.tokens.size()));
    EXPECT_EQ(found.prompt_tokens, static_cast<int64_t>(format_.prompt(request(seed).text).size()));
  }
}

TEST_F(Answering, ATaskThatIsTooLongIsRefusedAndTheNextIsNot) {
  Answerer answerer(folder_.path(), {.rows = 2, .device = "cpu"});
  ChatRequest asked = request(1);
  asked.text = std::string(4000, '+');
  try {
    answerer.answer(asked);
    FAIL() << "not thrown";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("context of 128"), std::string::npos);
  }
  EXPECT_EQ(answerer.answer(request(1)).text, format_.text(alone(request(1)).tokens));
  // Without a limit of its own an answer has what is left.
  asked = request(2);
  asked.max_tokens = 0;
  const ChatCompletion found = answerer.answer(asked);
  EXPECT_TRUE(!found.cut || found.prompt_tokens + found.completion_tokens == 128);
}

TEST_F(Answering, StopTellsWhoWaits) {
  Answerer answerer(folder_.path(), {.rows = 2, .device = "cpu"});
  answerer.stop();
  EXPECT_THROW(answerer.answer(request(1)), EnvironmentError);
  // And who is under way, at whatever point that is: an answer, or the error.
  Answerer another(folder_.path(), {.rows = 1, .device = "cpu"});
  std::vector<std::future<bool>> asked;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    asked.push_back(std::async(std::launch::async, [&, seed] {
      try {
        return another.answer(request(seed)).prompt_tokens > 0;
      } catch (const EnvironmentError&) {
        return true;
      }
    }));
  }
  another.stop();
  for (auto& one : asked) EXPECT_TRUE(one.get());
}

TEST_F(Answering, NeedsAModelThatAnswersTasks) {
  const auto refused = [&](const std::string& word) {
    try {
      Answerer answerer(folder_.path(), {.device = "cpu"});
      return false;
    } catch (const InputError& error) {
      return std::string(error.what()).find(word) != std::string::npos;
    }
  };
  write_model(format_.end() + 1);  // a model of others, that ends its turns otherwise
  EXPECT_NO_THROW(Answerer(folder_.path(), {.device = "cpu"}));
  std::filesystem::remove(folder_.path() / "tokenizer.json");
  EXPECT_TRUE(refused("tokenizer.json"));
  EXPECT_THROW(Answerer(folder_.path() / "none", {.device = "cpu"}), InputError);
}

// A request over the socket; status 0 when nobody answers.
HttpResult post(const std::string& socket, const std::string& body, std::string& text) {
  return make_unix_transport(socket)->post("http://localhost/v1/chat/completions", {}, body,
                                           steady_clock::now() + seconds(60),
                                           [&](const HttpHead&, std::string_view bytes) {
                                             text += bytes;
                                             return true;
                                           });
}

TEST_F(Answering, ServesUntilItsInputEnds) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd input(pipe[0]);
  UniqueFd parent(pipe[1]);
  const std::filesystem::path socket = folder_.path() / "socket";
  ServeOptions options{folder_.path(), socket, {.rows = 2, .device = "cpu"}};
  auto served = std::async(std::launch::async, [&] { serve(options, input.get()); });
  const auto deadline = steady_clock::now() + seconds(60);
  std::string text;
  HttpResult result;
  do {  // from when it listens
    result = post(socket.string(), json_of("def f"), text);
  } while (result.head.status == 0 && steady_clock::now() < deadline);
  ASSERT_EQ(result.head.status, 200) << result.fault;
  EXPECT_NE(text.find("\"completion_tokens\":"), std::string::npos) << text;
  text.clear();
  EXPECT_EQ(post(socket.string(), json_of(std::string(4000, '+')), text).head.status, 400);
  EXPECT_NE(text.find("leaves no room"), std::string::npos) << text;
  EXPECT_EQ(served.wait_for(seconds(0)), std::future_status::timeout);
  parent.reset();
  ASSERT_EQ(served.wait_for(seconds(60)), std::future_status::ready);
  served.get();
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(Answering, ServesNoModelThatIsNone) {
  ServeOptions options{folder_.path() / "none", folder_.path() / "socket", {.device = "cpu"}};
  auto served = std::async(std::launch::async, [&] { serve(options, 0); });
  EXPECT_THROW(served.get(), InputError);
  EXPECT_FALSE(std::filesystem::exists(options.socket));
}

}  // namespace
}  // namespace kw::train
