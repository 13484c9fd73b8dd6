// The server over real sockets, with answers that the test writes.
#include "train/serve/chat_server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <latch>
#include <random>

#include "formats/base/error.h"
#include "net/http.h"
#include "policy/chat/chat_stream.h"
#include "worker/test_folder.h"

namespace kw::train {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr char kBody[] = R"({"messages": [{"role": "user", "content": "a task"}]})";

using Wanted = std::function<bool()>;
ChatCompletion echo(const ChatRequest& request, const Wanted&) {
  return {"of " + request.text, false, 3, 4};
}

struct Answered {
  int status = 0;
  ChatReply reply;
  std::string fault;
};
Answered ask(const std::string& socket, const std::string& body,
             const std::string& path = "/v1/chat/completions") {
  Answered out;
  std::string text;
  const HttpResult result = make_unix_transport(socket)->post(
      "http://localhost" + path, {}, body, steady_clock::now() + seconds(60),
      [&](const HttpHead&, std::string_view bytes) {
        text += bytes;
        return true;
      });
  out.status = result.head.status;
  out.fault = result.fault;
  ChatReader reader(result.head.content_type == "text/event-stream");
  reader.feed(text);
  reader.finish(false);
  out.reply = reader.reply();
  return out;
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, path.size());
  EXPECT_EQ(::connect(out.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  return out;
}

// All that comes back for `bytes`, whose sender then says that nothing more will come.
std::string raw(const std::string& path, const std::string& bytes) {
  const UniqueFd socket = connect_to(path);
  (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(socket.get(), SHUT_WR);
  std::string out;
  char piece[4096];
  for (ssize_t n = 0; (n = ::recv(socket.get(), piece, sizeof piece, 0)) > 0;) out.append(piece, n);
  return out;
}

constexpr char kStart[] = "POST /v1/chat/completions HTTP/1.1\r\n";

std::string with_length(const std::string& body) {
  return kStart + ("Content-Length: " + std::to_string(body.size())) + "\r\n\r\n" + body;
}

class Chat : public ::testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "socket").string(); }
  TestFolder folder_;
};

// Who has gone is not waited for; who has only ended its request is.
TEST_F(Chat, AsksWhetherTheClientIsThere) {
  std::promise<void> left, noticed;
  std::atomic<bool> was_there{false};
  const ChatServer server(path(), [&](const ChatRequest& request, const Wanted& wanted) {
    if (request.text == "leaves") {
      was_there = wanted();
      left.set_value();
      while (wanted()) std::this_thread::yield();
      noticed.set_value();
    }
    return echo(request, wanted);
  });
  const std::string request =
      with_length(R"({"messages": [{"role": "user", "content": "leaves"}]})");
  {
    const UniqueFd client = connect_to(path());
    ASSERT_EQ(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    ::shutdown(client.get(), SHUT_WR);
    left.get_future().wait();
  }
  EXPECT_EQ(noticed.get_future().wait_for(seconds(60)), std::future_status::ready);
  EXPECT_TRUE(was_there);
  EXPECT_EQ(ask(path(), kBody).status, 200);
}

TEST_F(Chat, AnswersAnObjectOrAStream) {
  const ChatServer server(path(), echo);
  for (const char* stream : {"false", "true"}) {
    std::string body = kBody;
    body.insert(1, std::string("\"stream\": ") + stream + ", ");
    const Answered found = ask(path(), body);
    EXPECT_EQ(found.fault, "");
    EXPECT_EQ(found.status, 200);
    EXPECT_EQ(found.reply.text, "of a task");
    EXPECT_EQ(found.reply.finish_reason, "stop");
    EXPECT_EQ(found.reply.completion_tokens, 4);
  }
}

TEST_F(Chat, IsForThisUserAlone) {
  const ChatServer server(path(), echo);
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Chat, BadRequestsAreToldAndTheNextIsServed) {
  ChatServerOptions options;
  options.connections = 1;
  options.most_body = 1000;
  const ChatServer server(path(), echo, options);
  const std::string start = kStart;
  std::string ranges = "Range: bytes=0-0";
  while (ranges.size() < 8000) ranges += ",0-0";
  const std::pair<std::string, const char*> bad[] = {
      {"\r\n", "400"},
      {"SSH-2.0-what\r\n\r\n", "400"},
      {"POST /\r\n\r\n", "400"},
      {start + "Content-Length: 9\r\n\r\n1", "400"},  // half of one
      {start + "Content-Length: 0\r\n\r\n", "400"},
      {with_length("{\"a\""), "400"},
      {with_length(std::string(1000, '[')), "400"},
      {start + "Transfer-Encoding: chunked\r\n\r\n{}", "400"},
      {start + "A: " + std::string(100000, 'x') + "\r\n\r\n", "400"},
      {start + ranges + "\r\nContent-Length: 2\r\n\r\n{}", "400"},
      {start + "\r\n{}", "411"},
      {with_length(std::string(1001, 'x')), "413"},
      {with_length(std::string(2000000, 'x')), "413"},
      {start + "Content-Length: -1\r\n\r\n{}", "4"},
      {"POST /" + std::string(10000, 'x') + " HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "414"},
      {start + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "415"},
  };
  for (const auto& [bytes, status] : bad) {
    const std::string reply = raw(path(), bytes);
    EXPECT_TRUE(reply.starts_with(std::string("HTTP/1.1 ") + status))
        << bytes.substr(0, 100) << ": " << reply;
    EXPECT_NE(reply.find("{\"error\":{\"message\":\""), std::string::npos) << reply;
  }
  EXPECT_EQ(raw(path(), ""), "");  // whoever sends no request
  { const UniqueFd gone = connect_to(path()); }
  EXPECT_EQ(ask(path(), kBody, "/v1/models").status, 404);
  EXPECT_TRUE(raw(path(), "GET /v1/chat/completions HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
  EXPECT_EQ(ask(path(), "{}").status, 400);
  EXPECT_EQ(ask(path(), kBody).reply.text, "of a task");
}

// A body is JSON whatever its type says; `curl -d` calls it a form.
TEST_F(Chat, TheContentTypeDoesNotMatter) {
  const ChatServer server(path(), echo);
  const std::string body =
      R"({"messages": [{"role": "user", "content": ")" + std::string(20000, 'x') + R"("}]})";
  for (const char* type : {"application/json", "application/x-www-form-urlencoded", "text/plain",
                           "multipart/form-data; boundary=b"}) {
    const std::string reply =
        raw(path(), std::string(kStart) + "Content-Type: " + type +
                        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 200")) << type << ": " << reply.substr(0, 300);
    EXPECT_NE(reply.find("of xxx"), std::string::npos) << type;
  }
}

TEST_F(Chat, BodiesMayComeInChunks) {
  const ChatServer server(path(), echo);
  char length[32];
  std::snprintf(length, sizeof length, "%zx\r\n", std::string(kBody).size());
  const std::string reply = raw(path(), kStart + std::string("Transfer-Encoding: chunked\r\n\r\n") +
                                            length + kBody + "\r\n0\r\n\r\n");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200")) << reply;
  EXPECT_NE(reply.find("of a task"), std::string::npos) << reply;
}

// Headers and chunks that never end are bounded, and so is what dribbles in.
TEST_F(Chat, WhatNeverEndsIsEnded) {
  ChatServerOptions options;
  options.connections = 1;
  options.most_body = 1000;
  std::optional<ChatServer> server(std::in_place, path(), echo, options);
  for (const std::string& endless : {std::string("A: b\r\n"), std::string("5\r\nhello\r\n")}) {
    std::string bytes = kStart;
    if (endless.starts_with("5")) bytes += "Transfer-Encoding: chunked\r\n\r\n";
    while (bytes.size() < 200000) bytes += endless;
    const UniqueFd socket = connect_to(path());
    const auto start = steady_clock::now();
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    char reply[12] = "";
    EXPECT_EQ(::recv(socket.get(), reply, sizeof reply, MSG_WAITALL),
              static_cast<ssize_t>(sizeof reply));
    EXPECT_EQ(std::string(reply, sizeof reply), "HTTP/1.1 400");
    EXPECT_LT(steady_clock::now() - start, seconds(20));  // less than its patience
  }
  server.reset();
  options.patience = milliseconds(50);
  server.emplace(path(), echo, options);
  const UniqueFd socket = connect_to(path());
  const auto start = steady_clock::now();
  while (::send(socket.get(), "P", 1, MSG_NOSIGNAL) == 1) {
    ASSERT_LT(steady_clock::now() - start, seconds(60));
    std::this_thread::yield();
  }
  EXPECT_EQ(ask(path(), kBody).reply.text, "of a task");
}

TEST_F(Chat, StandsAnything) {
  ChatServerOptions options;
  options.connections = 1;
  const ChatServer server(path(), echo, options);
  std::string good = with_length(kBody);
  good.insert(std::size(kStart) - 1,
              "Host: h\r\nRange: bytes=0-9\r\nExpect: 100-continue\r\n"
              "Content-Type: a/b; boundary=c\r\nAccept-Encoding: gzip\r\n");
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (int i = std::uniform_int_distribution<int>(0, 4)(random); i > 0; --i) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const std::string reply = raw(path(), text);
    EXPECT_TRUE(reply.empty() || reply.starts_with("HTTP/1.1 ")) << text;
  }
  EXPECT_EQ(ask(path(), kBody).reply.text, "of a task");
}

TEST_F(Chat, FaultsHaveTheirStatus) {
  const ChatServer server(path(), [](const ChatRequest& request, const Wanted&) -> ChatCompletion {
    if (request.seed == 1u) throw InputError("too long");
    if (request.seed == 2u) throw EnvironmentError("ending");
    throw std::runtime_error("oops");
  });
  for (const auto& [seed, status, words] :
       {std::tuple{"1", 400, "too long"}, std::tuple{"2", 503, "ending"},
        std::tuple{"3", 500, "oops"}}) {
    std::string body = kBody;
    body.insert(1, std::string("\"seed\": ") + seed + ", ");
    const Answered found = ask(path(), body);
    EXPECT_EQ(found.status, status);
    EXPECT_EQ(found.reply.fault, std::string("the endpoint says: ") + words);
  }
}

TEST_F(Chat, ManyAreServedAtOnce) {
  constexpr int kAtOnce = 12;
  std::latch all(kAtOnce);  // nobody is answered before all have come
  ChatServerOptions options;
  options.connections = kAtOnce;
  const ChatServer server(
      path(),
      [&](const ChatRequest& request, const Wanted& wanted) {
        return all.arrive_and_wait(), echo(request, wanted);
      },
      options);
  std::vector<std::future<Answered>> asked;
  for (int i = 0; i < kAtOnce; ++i) {
    asked.push_back(std::async(std::launch::async, [&] { return ask(path(), kBody); }));
  }
  for (auto& answer : asked) EXPECT_EQ(answer.get().reply.text, "of a task");
}

TEST_F(Chat, WhoSendsNothingIsLeftAfterAWhile) {
  ChatServerOptions options;
  options.connections = 1;
  options.patience = milliseconds(50);
  const ChatServer server(path(), echo, options);
  const UniqueFd silent = connect_to(path());
  EXPECT_EQ(ask(path(), kBody).reply.text, "of a task");
  char byte = 0;
  EXPECT_EQ(::recv(silent.get(), &byte, 1, 0), 0);
}

TEST_F(Chat, TheEndBreaksConnectionsOffAndRemovesTheSocket) {
  std::optional<ChatServer> server(std::in_place, path(), echo);
  const UniqueFd silent = connect_to(path());
  EXPECT_EQ(ask(path(), kBody).status, 200);  // so the silent one has been taken too
  const auto start = steady_clock::now();
  server.reset();
  EXPECT_LT(steady_clock::now() - start, seconds(20));  // less than its patience
  EXPECT_FALSE(std::filesystem::exists(path()));
  char byte = 0;
  EXPECT_EQ(::recv(silent.get(), &byte, 1, 0), 0);
}

// Exits with 3 if the server says that there are too few threads, and leaves nothing.
[[noreturn]] void serve_without_memory_for_threads(const std::string& path) {
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) std::_Exit(1);
    std::fclose(file);
  }
  const auto bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (rlim_t{300} << 20);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
  ChatServerOptions options;
  options.connections = 100000;
  try {
    const ChatServer server(path, echo, options);
  } catch (const EnvironmentError&) {
    std::_Exit(std::filesystem::exists(path) ? 2 : 3);
  }
  std::_Exit(0);
}

TEST_F(Chat, TooFewThreadsAreTheMachinesFault) {
  EXPECT_EXIT(serve_without_memory_for_threads(path()), ::testing::ExitedWithCode(3), "");
}

TEST_F(Chat, TakesNoPathThatIsTaken) {
  folder_.write("socket", "mine");
  EXPECT_THROW(ChatServer(path(), echo), EnvironmentError);
  EXPECT_TRUE(std::filesystem::exists(path()));
  EXPECT_THROW(ChatServer(folder_.path() / std::string(200, 'x'), echo), EnvironmentError);
  EXPECT_THROW(ChatServer(folder_.path() / "no" / "folder", echo), EnvironmentError);
}

}  // namespace
}  // namespace kw::train
