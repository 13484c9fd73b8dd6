// Answers POST /v1/chat/completions on a Unix-domain socket. Each thread serves one connection at a
// time. A client may send anything: bytes that are no request get status 400 and an object with an
// error, and no input ends the server. Torch-free.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "policy/chat/chat_request.h"
#include "worker/process/unique_fd.h"

namespace kw::train {

struct ChatServerOptions {
  int connections = 64;                       // served at once; others wait
  size_t most_body = 4 << 20;                 // bytes of a request's body
  std::chrono::milliseconds patience{30000};  // for receiving a request, and for sending its reply
};

class ChatServer {
 public:
  // Answers a request; called by many threads. `wanted` tells whether the client still waits.
  // InputError becomes status 400, EnvironmentError 503, any other exception 500.
  using Answer =
      std::function<ChatCompletion(const ChatRequest&, const std::function<bool()>& wanted)>;

  // Accepts connections from now on, of this user alone. Throws EnvironmentError if `socket` exists
  // already, or the machine refuses it.
  ChatServer(std::filesystem::path socket, Answer answer, ChatServerOptions options = {});
  // Closes connections, waits for answers under way, and removes the socket.
  ~ChatServer();

 private:
  void live();
  void serve(int connection) const;
  std::string reply_to(const std::string& method, const std::string& target,
                       const std::string& body, const std::function<bool()>& wanted) const;

  const std::filesystem::path path_;
  const Answer answer_;
  const ChatServerOptions options_;
  UniqueFd listener_;
  UniqueFd stop_;  // readable when the server ends
  std::vector<std::thread> threads_;
};

}  // namespace kw::train
