// The server over real sockets, with answers that the test writes.
#include "train/serve/chat_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <future>
#include <latch>

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
      parse_url("http://localhost" + path), {}, body, steady_clock::now() + seconds(60),
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
  const std::string body = R"({"messages": [{"role": "user", "content": "leaves"}]})";
  const std::string request = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
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
  const std::string start = "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: ";
  const std::string bad[] = {
      "\r\n",
      "SSH-2.0-what\r\n\r\n",
      start + "4\r\n\r\n{\"a\"",
      start + "1001\r\n\r\n" + std::string(1001, 'x'),
      start + "2000000\r\n\r\n" + std::string(2000000, 'x'),
      start + "2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      start + "1000\r\n\r\n" + std::string(1000, '['),
  };
  for (const std::string& bytes : bad) {
    const std::string reply = raw(path(), bytes);
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 400 ")) << bytes.substr(0, 60) << ": " << reply;
    EXPECT_NE(reply.find("{\"error\":{\"message\":\""), std::string::npos) << reply;
  }
  EXPECT_EQ(raw(path(), ""), "");                    // whoever sends no request
  EXPECT_EQ(raw(path(), start + "9\r\n\r\n1"), "");  // or half of one
  { const UniqueFd gone = connect_to(path()); }
  EXPECT_EQ(ask(path(), kBody, "/v1/models").status, 404);
  EXPECT_TRUE(raw(path(), "GET /v1/chat/completions HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
  EXPECT_EQ(ask(path(), "{}").status, 400);
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

TEST_F(Chat, TakesNoPathThatIsTaken) {
  folder_.write("socket", "mine");
  EXPECT_THROW(ChatServer(path(), echo), EnvironmentError);
  EXPECT_TRUE(std::filesystem::exists(path()));
  EXPECT_THROW(ChatServer(folder_.path() / std::string(200, 'x'), echo), EnvironmentError);
  EXPECT_THROW(ChatServer(folder_.path() / "no" / "folder", echo), EnvironmentError);
}

}  // namespace
}  // namespace kw::train
