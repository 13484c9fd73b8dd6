// One executor process from its start to its death, to which requests go frame by frame.
// Torch-free. For one thread, with which the process ends.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "formats/json.h"
#include "worker/process/channel.h"
#include "worker/process/process.h"

namespace kw {

class SharedZygote;

struct ExecutorConfig {
  std::string binary;              // kernelwright-executor
  std::string backend = "cpu";     // or "cuda"
  std::string python, worker_dir;  // for the interpreter of the cpu backend
  bool sandbox = true;             // of its workers; false only by the user's explicit flag
  bool wall_clock = false;         // the cpu backend times by the host's clock: for tests
  int processes = 1;
  // A program that is started in its place, with these arguments before the executor's. It runs the
  // executor, and both are killed together.
  std::vector<std::string> wrapper;
  std::vector<std::string> variables;  // "NAME=value", added to the environment
  bool loads_ahead = true;             // libraries that trials need, after the first answer
  int gpu = -1;  // index among the GPUs that this process may see; -1: the first
  std::chrono::milliseconds start_deadline{60000};
  std::string limit_flag;  // the user's flag that limits a request's time, for messages
  // The cpu backend's interpreter is a copy of this zygote, which has the same Python and sandbox
  // and outlives the process. If null, the interpreter imports torch and triton itself.
  SharedZygote* workers = nullptr;
};

ExecutorConfig default_executor_config(const std::string& backend);

// A request the executor did not survive.
struct ExecutorDied : std::runtime_error {
  explicit ExecutorDied(const std::string& what, bool by_somebody = false, bool too_late = false)
      : std::runtime_error(what), killed(by_somebody), late(too_late) {}
  bool killed;  // by somebody else, an operator or a system that ran out of memory
  bool late;    // it did not answer in time
};

class ExecutorProcess {
 public:
  // Throws InputError for a GPU that is not there.
  explicit ExecutorProcess(const ExecutorConfig& config);
  ~ExecutorProcess();

  // Throws ExecutorDied if the process does not take the request in time.
  void send(const Frame& request, Deadline deadline);
  // Returns the next answer, in the order of requests. Throws ExecutorDied if none comes in time.
  Json receive(Deadline deadline);
  // Returns what the process says once it is set up and, the second time, once its libraries are
  // loaded. Throws EnvironmentError if it does not start.
  Json greeting();
  // Waits until nothing is being set up. Throws as greeting() does.
  void make_ready();
  // Closes the socket, so that the process ends. Returns false if it has not ended in time.
  bool end(Deadline deadline);

 private:
  // Kills the process and throws. An empty `how` means that it had already ended.
  [[noreturn]] void die(std::string how, bool late = false);
  void wait_for_news(Deadline deadline);

  const std::chrono::milliseconds start_deadline_;
  int greeted_ = 0;
  OutputTail stderr_;
  bool stderr_open_ = true;
  Process process_;
  std::optional<FrameChannel> channel_;
};

}  // namespace kw
