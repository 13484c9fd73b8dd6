// The client of worker/compile_server.py, a trusted process that runs torch.compile, with the GPU
// if there is one. Each request runs in a separate child. It runs the user's own model, or text
// that was written from a recorded program, and never a candidate.
//
// The process begins to import torch when this is made, so that it is warm by the first request. If
// it dies, open requests are not answered, and the next request finds another process. A process
// that died before its first answer is not started again. Any thread may call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "formats/json.h"
#include "worker/process/channel.h"
#include "worker/process/process.h"
#include "worker/work_thread.h"

namespace kw {

class CompileServer {
 public:
  // `device` is "cuda" or "cpu". At most `parallel` requests are under way at once; others wait.
  CompileServer(const std::string& device, int parallel);
  ~CompileServer();

  // Asks for the "task" that `request` names, with that task's arguments (compile_server.py). The
  // task may take `limit` from its start. Returns an empty text if it was done, else the reason in
  // one line.
  std::string ask(Json request, std::chrono::seconds limit);

 private:
  // The caller of all three holds mutex_; reading lets go of it for a while.
  void start();
  void read_answer(std::unique_lock<std::mutex>& lock, Deadline deadline);
  void end();

  const std::string device_;
  const int parallel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  WorkThread thread_;  // the process dies with the thread that started it
  std::optional<OutputTail> tail_;
  Process process_;
  std::optional<FrameChannel> channel_;
  int starts_ = 0;
  bool ended_ = false;     // it cannot be spoken to
  bool answered_ = false;  // since its start
  bool reading_ = false;   // somebody waits for the next answer, with the lock let go
  int64_t asked_ = 0;
  int open_ = 0;  // asked and not answered
  std::map<int64_t, std::string> answers_;
};

}  // namespace kw
