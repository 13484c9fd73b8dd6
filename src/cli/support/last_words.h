// What a command that cannot stop half way says when it is ended.
#pragma once

#include <functional>
#include <thread>

namespace kw {

// While it lives, SIGINT or SIGTERM has `say` called on a thread of its own, removes temporary
// folders and ends the process with 128 and the signal's number. One at a time.
class LastWords {
 public:
  explicit LastWords(std::function<void()> say);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  void wait();

  const std::function<void()> say_;
  std::thread thread_;
};

}  // namespace kw
