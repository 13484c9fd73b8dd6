// Work of a device that is the same every time, captured once and replayed without the host's part:
// what it reads and writes must stay where it is. One thread.
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

// Runs `work` once, then captures it (a CUDA graph): what it changes is changed once. Graphs share
// what memory they need while they run, so no two may run at the same time. InputError where the
// device is no GPU.
std::unique_ptr<DeviceGraph> capture(at::Device device, const std::function<void()>& work);

}  // namespace kw
