// Answers POST /v1/chat/completions on a Unix-domain socket: threads that each serve one connection
// at a time. A client may send anything. What is no request is answered with a status of 400 to 415
// and an object with an error, and nothing that comes ends the server. Torch-free.
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
  int connections = 64;                       // at once; others wait to be taken
  size_t most_body = 4 << 20;                 // bytes of a request's body
  std::chrono::milliseconds patience{30000};  // for a request to come, and for its reply to go
};

class ChatServer {
 public:
  // Called by many threads, with a way to ask whether the client still waits. InputError: 400,
  // EnvironmentError: 503, anything else: 500.
  using Answer =
      std::function<ChatCompletion(const ChatRequest&, const std::function<bool()>& wanted)>;

  // Takes connections from now on, of this user alone. EnvironmentError when there is something at
  // `socket` already, or the machine refuses it or the threads.
  ChatServer(std::filesystem::path socket, Answer answer, ChatServerOptions options = {});
  // Breaks connections off, but waits for answers under way; removes the socket.
  ~ChatServer();

 private:
  void end();
  void live() const;

  const std::filesystem::path path_;
  const Answer answer_;
  const ChatServerOptions options_;
  UniqueFd listener_;
  UniqueFd stop_;  // readable when the server ends
  std::vector<std::thread> threads_;
};

}  // namespace kw::train
