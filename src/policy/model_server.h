// The trainer process that serves a model to this process on a Unix-domain socket, so that the
// front program needs no libtorch: started when it is first wanted, and again when it ends after it
// had taken requests (a few times in a row); ended with its owner, dead with this process. Its
// socket is in a folder that only this user can look into. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace kw {

// Beside the front program where that was built; $KERNELWRIGHT_TRAINER says otherwise.
std::string trainer_binary();

// How the server says on stderr that it takes requests, behind its name.
inline constexpr char kServerIsReady[] = "ready";

struct ModelServerConfig {
  std::string binary = trainer_binary();
  std::string model;            // a Hugging Face folder
  std::string device = "auto";  // cpu, cuda
  int rows = 16;                // answers that are drawn at once
};

class ModelServer {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // EnvironmentError when there is no place for its socket.
  explicit ModelServer(ModelServerConfig config);
  ~ModelServer();

  // Starts it when it was not started. False when it does not take requests by the deadline.
  // InputError when it refuses the model; EnvironmentError when it has ended for good, with its
  // last words.
  bool wait_until_ready(TimePoint deadline);
  // For whoever saw a connection to it break: waits a few seconds for its end, with the same errors
  // when that is for good.
  void throw_if_ended();
  std::string socket_path() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace kw
