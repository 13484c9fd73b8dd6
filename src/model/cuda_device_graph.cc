#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "formats/error.h"
#include "model/device_graph.h"

namespace kw {
namespace {

// Captures are refused on the default stream.
c10::cuda::CUDAStream stream_of_captures() {
  static const c10::cuda::CUDAStream made = c10::cuda::getStreamFromPool();
  return made;
}

class CudaGraph : public DeviceGraph {
 public:
  explicit CudaGraph(const std::function<void()>& work) {
    static const at::cuda::MempoolId_t memory = at::cuda::graph_pool_handle();
    const c10::cuda::CUDAStream own = stream_of_captures();
    c10::cuda::getCurrentCUDAStream().synchronize();
    {
      const c10::cuda::CUDAStreamGuard guard(own);
      work();  // libraries set themselves up at first use, which cannot be captured
      own.synchronize();
      graph_.capture_begin(memory);
      work();
      graph_.capture_end();
    }
    own.synchronize();
  }
  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<DeviceGraph> capture(at::Device device, const std::function<void()>& work) {
  if (!device.is_cuda()) throw InputError("work is captured on a GPU alone");
  return std::make_unique<CudaGraph>(work);
}

}  // namespace kw
