// The trainer process that serves a model to this process on a Unix-domain socket, so that the
// front program needs no libtorch. It is started when it is first needed. If it ends after it had
// accepted requests, it is started again, a few times in a row. It ends with its owner and with
// this process. Its socket is in a folder that only this user can read. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace kw {

// Beside the front program where that was built; $KERNELWRIGHT_TRAINER says otherwise.
std::string trainer_binary();

// The word on stderr, after the server's name, that says that it accepts requests.
inline constexpr char kServerIsReady[] = "ready";

struct ModelServerConfig {
  std::string binary = trainer_binary();
  std::string model;            // a Hugging Face folder
  std::string device = "auto";  // cpu, cuda
  int rows = 16;                // answers drawn at once
};

class ModelServer {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Throws EnvironmentError if its socket cannot be placed.
  explicit ModelServer(ModelServerConfig config);
  ~ModelServer();

  // Starts the server if it was not started. Returns false if it does not accept requests by the
  // deadline. Throws InputError if it refuses the model, and EnvironmentError with its last words
  // if it has ended for good.
  bool wait_until_ready(TimePoint deadline);
  // Waits a few seconds for the server's end, for a caller whose connection broke. Throws as above
  // if the server has ended for good.
  void throw_if_ended();
  std::string socket_path() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace kw
