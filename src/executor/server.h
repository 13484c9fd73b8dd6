// The executor's request loop (protocol.h): one frame in, one frame out, until the peer closes. The
// Server holds the loaded tasks. A request that fails is answered and the loop goes on. If the
// device is lost, the answer says so ("died") and the process must end.
#pragma once

#include <map>
#include <memory>

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"
#include "executor/trial/trial.h"
#include "formats/frame.h"
#include "worker/process/channel.h"

namespace kw::exec {

// Measures time on a backend; nullptr if there is no clock.
using Timer = std::function<TimeReport(const TimeRequest&, const std::vector<LoadedTask*>&)>;

class Server {
 public:
  // `loads_ahead`: whether what trials need is loaded after the first answer, not when it is used.
  Server(Backend& backend, Timer timer, bool loads_ahead = true)
      : backend_(backend), timer_(std::move(timer)), trials_(backend), ready_(!loads_ahead) {}

  // Answers one request. Sets lost() if the device is lost.
  Frame answer(const Frame& request);
  bool lost() const { return lost_; }
  // Serves requests and returns the exit code of the process: 0 if the peer closed, kLostExit if
  // the device was lost.
  static constexpr int kLostExit = 17;
  int serve(FrameChannel& channel);

 private:
  Json dispatch(const Frame& request);
  Json hello() const;
  Json load(const Frame& request);
  void get_ready();
  void keep_own_part();
  LoadedTask& task(int id);

  Backend& backend_;
  Timer timer_;
  Trials trials_;
  std::map<int, std::unique_ptr<LoadedTask>> tasks_;
  bool lost_ = false;
  bool ready_;  // after the first answer, which is a greeting
};

}  // namespace kw::exec
