#include "executor/trial/cuda_timing.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>

#include "executor/aten/cuda_jit.h"
#include "executor/trial/timing.h"

namespace kw::exec {
namespace {

using Clock = std::chrono::steady_clock;
using Loader = torch::inductor::AOTIModelPackageLoader;

// The bytes that are written before each run. They are more than twice any L2, and writing them
// takes long enough (some 60 us) for the host to get ahead of the device.
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

// Writes the cycles and the nanoseconds that one thread took to spin. It spins for 2^17 cycles,
// some 70 microseconds, because the device's timer may move in steps of a microsecond.
constexpr const char* kPace = R"cuda(
extern "C" __global__ void pace(long long* out) {
  long long begin, end;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin) :: "memory");
  const long long first = clock64();
  while (clock64() - first < (1 << 17)) {}
  out[0] = clock64() - first;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end) :: "memory");
  out[1] = end - begin;
}
)cuda";

class CudaClock : public RunClock {
 public:
  std::vector<double> device_ms(const std::vector<TimedRun>& runs) override {
    while (spans_.size() < runs.size()) spans_.emplace_back();
    for (size_t i = 0; i < runs.size(); ++i) {
      runs[i].prepare();
      flush_();
      spans_[i].start.record();
      runs[i].run();
      spans_[i].stop.record();
    }
    std::vector<double> ms;
    for (size_t i = 0; i < runs.size(); ++i) {
      spans_[i].stop.wait();
      ms.push_back(spans_[i].stop.ms_since(spans_[i].start));
    }
    return ms;
  }
  double wall_ms(const std::function<void()>& run) override {
    flush_();
    require(cudaDeviceSynchronize(), "flush");
    const Clock::time_point before = Clock::now();
    run();
    require(cudaDeviceSynchronize(), "timed run");
    return std::chrono::duration<double, std::milli>(Clock::now() - before).count();
  }
  double processor_mhz() override {
    const CUfunction pace = jit_function(kPace, "pace");
    if (!pace) return 0;
    const at::Tensor out = at::empty({2}, at::TensorOptions().dtype(at::kLong).device(at::kCUDA));
    JitLaunch{pace, "clock", 1, 1}(out.data_ptr());
    const at::Tensor read = out.cpu();
    const int64_t* found = read.const_data_ptr<int64_t>();
    return found[1] > 0 ? 1e3 * static_cast<double>(found[0]) / static_cast<double>(found[1]) : 0;
  }

 private:
  struct Span {
    Event start, stop;
  };
  Flush flush_;
  std::deque<Span> spans_;  // of one round
};

// A package whose kernels are captured once for each set of inputs, and then launched together. If
// they cannot be captured, the package runs without a graph, as under torch.compile's
// reduce-overhead.
class GraphPackage {
 public:
  explicit GraphPackage(Loader* loader) : loader_(loader) {}

  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& inputs) {
    if (!possible_) return loader_->run(inputs);
    std::vector<const void*> key;
    for (const at::Tensor& input : inputs) key.push_back(input.const_data_ptr());
    const auto [entry, fresh] = captured_.try_emplace(key);
    if (fresh && !capture(inputs, entry->second)) return loader_->run(inputs);
    entry->second.graph->replay();
    return entry->second.outputs;
  }

 private:
  struct Captured {
    std::unique_ptr<at::cuda::CUDAGraph> graph;
    std::vector<at::Tensor> outputs;
  };

  bool capture(const std::vector<at::Tensor>& inputs, Captured& out) {
    loader_->run(inputs);  // does what happens only once, outside of the capture
    require(cudaDeviceSynchronize(), "before capturing");
    out.graph = std::make_unique<at::cuda::CUDAGraph>();
    const c10::cuda::CUDAStreamGuard aside(c10::cuda::getStreamFromPool());
    try {
      out.graph->capture_begin();
      out.outputs = loader_->run(inputs);
      out.graph->capture_end();
      return true;
    } catch (const std::exception& error) {
      possible_ = false;
      try {
        out.graph->capture_end();        // an open capture would keep the stream
      } catch (const std::exception&) {  // the failed capture has ended; its error is told below
      }
      out = {};
      captured_.clear();
      cudaGetLastError();
      std::fprintf(stderr,
                   "note: torch.compile's code cannot be captured in a CUDA graph: %.200s\n",
                   error.what());
      return false;
    }
  }

  Loader* loader_;
  std::map<std::vector<const void*>, Captured> captured_;
  bool possible_ = true;
};

}  // namespace

TimeReport time_on_cuda(Backend& backend, const TimeRequest& request,
                        const std::vector<LoadedTask*>& tasks) {
  c10::InferenceMode inference;
  std::vector<std::unique_ptr<Loader>> loaders;
  std::vector<Package> packages;
  for (const PackageRequest& wanted : request.packages) {
    Loader* loader = loaders.emplace_back(std::make_unique<Loader>(wanted.path)).get();
    if (wanted.graph) {
      packages.push_back([graph = std::make_shared<GraphPackage>(loader)](
                             const std::vector<at::Tensor>& inputs) { return (*graph)(inputs); });
    } else {
      packages.push_back(
          [loader](const std::vector<at::Tensor>& inputs) { return loader->run(inputs); });
    }
  }
  CudaClock clock;
  return time_runs(backend, clock, request, tasks, packages);
}

}  // namespace kw::exec
