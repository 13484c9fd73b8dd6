// Device work that is the same every time. It is captured once and replayed without the host's
// part, so what it reads and writes must stay at its addresses. For one thread.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>

namespace kw {

class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void replay() = 0;
};

// Runs `work` once and captures it as a CUDA graph. The capture itself changes nothing. Graphs
// share the memory that they need while they run, so no two may run at the same time. Throws
// InputError if the device is no GPU.
std::unique_ptr<DeviceGraph> capture(at::Device device, const std::function<void()>& work);

}  // namespace kw
