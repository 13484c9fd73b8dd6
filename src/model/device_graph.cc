#include "model/device_graph.h"

#include "formats/base/error.h"

#ifndef KW_WITH_CUDA

namespace kw {

std::unique_ptr<DeviceGraph> capture(at::Device, const std::function<void()>&) {
  throw InputError("work is captured on a GPU, and this is built without one");
}

}  // namespace kw

#endif
