#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <memory>

#include "formats/base/error.h"
#include "model/device_graph.h"

namespace kw {
namespace {

// Returns the stream for captures, which the default stream refuses.
c10::cuda::CUDAStream stream_of_captures() {
  static const c10::cuda::CUDAStream made = c10::cuda::getStreamFromPool();
  return made;
}

// The memory that graphs of a device use while they run. The allocator gives a pool up together
// with its last graph, and refuses captures into it from then on.
using Pool = at::cuda::MempoolId_t;

std::shared_ptr<const Pool> pool_of(at::DeviceIndex device) {
  static std::map<at::DeviceIndex, std::weak_ptr<const Pool>> pools;
  std::shared_ptr<const Pool> pool = pools[device].lock();
  if (!pool) pools[device] = pool = std::make_shared<Pool>(at::cuda::graph_pool_handle());
  return pool;
}

class CudaGraph : public DeviceGraph {
 public:
  explicit CudaGraph(const std::function<void()>& work)
      : pool_(pool_of(c10::cuda::current_device())) {
    const c10::cuda::CUDAStream own = stream_of_captures();
    c10::cuda::getCurrentCUDAStream().synchronize();
    {
      const c10::cuda::CUDAStreamGuard guard(own);
      work();  // libraries initialise themselves at first use, which cannot be captured
      own.synchronize();
      graph_.capture_begin(*pool_);
      work();
      graph_.capture_end();
    }
    own.synchronize();
  }
  void replay() override { graph_.replay(); }

 private:
  std::shared_ptr<const Pool> pool_;
  at::cuda::CUDAGraph graph_;  // declared last, so that it is destroyed before its pool
};

}  // namespace

std::unique_ptr<DeviceGraph> capture(at::Device device, const std::function<void()>& work) {
  if (!device.is_cuda()) throw InputError("work is captured on a GPU alone");
  return std::make_unique<CudaGraph>(work);
}

}  // namespace kw
