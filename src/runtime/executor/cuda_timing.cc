// The clock of a GPU: L2 is flushed by writing before each run. Device time is between two events
// around a plain replay on the stream, as eager PyTorch would run it; wall time is from the call to
// its completion on an idle device.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <algorithm>
#include <chrono>

#include "runtime/executor/cuda_backend.h"
#include "runtime/executor/timing.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using Loader = torch::inductor::AOTIModelPackageLoader;

// Written before each run: more than twice any L2, and long enough (some 60 us) for the host to
// get ahead of the device.
constexpr int64_t kFlushBytes = int64_t{256} << 20;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw ReplayError(std::string(what) + ": " + cudaGetErrorString(error));
}

class Event {
 public:
  Event() { require(cudaEventCreate(&event_), "event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  void record() { require(cudaEventRecord(event_, c10::cuda::getCurrentCUDAStream()), "event"); }
  void wait() { require(cudaEventSynchronize(event_), "timed run"); }
  double ms_since(const Event& start) const {
    float ms = 0;
    require(cudaEventElapsedTime(&ms, start.event_, event_), "event");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class Flush {
 public:
  Flush() {
    int l2 = 0;
    require(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "L2 size");
    const int64_t bytes = std::max(kFlushBytes, int64_t{2} * l2);
    buffer_ = at::empty({bytes / 4}, at::TensorOptions().dtype(at::kInt).device(at::kCUDA));
  }
  void operator()() {
    cudaCtxResetPersistingL2Cache();
    buffer_.fill_(++count_);
  }

 private:
  at::Tensor buffer_;
  int count_ = 0;
};

class CudaClock : public RunClock {
 public:
  double device_ms(const std::function<void()>& run) override {
    flush_();
    start_.record();
    run();
    stop_.record();
    stop_.wait();
    return stop_.ms_since(start_);
  }
  double wall_ms(const std::function<void()>& run) override {
    flush_();
    require(cudaDeviceSynchronize(), "flush");
    const Clock::time_point before = Clock::now();
    run();
    require(cudaDeviceSynchronize(), "timed run");
    return std::chrono::duration<double, std::milli>(Clock::now() - before).count();
  }

 private:
  Flush flush_;
  Event start_, stop_;
};

}  // namespace

TimeReport time_on_cuda(Backend& backend, const TimeRequest& request,
                        const std::vector<LoadedTask*>& tasks) {
  c10::InferenceMode inference;
  std::vector<std::unique_ptr<Loader>> loaders;
  std::vector<Package> packages;
  for (const std::string& path : request.packages) {
    loaders.push_back(std::make_unique<Loader>(path));
    packages.push_back([loader = loaders.back().get()](const std::vector<at::Tensor>& inputs) {
      return loader->run(inputs);
    });
  }
  CudaClock clock;
  return time_runs(backend, clock, request, tasks, packages);
}

}  // namespace kw
