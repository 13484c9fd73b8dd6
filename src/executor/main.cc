// kernelwright-executor --socket FD --backend cpu|cuda [--python PATH] [--worker-dir DIR]
//                       [--guard PATH] [--zygote FD] [--no-sandbox] [--wall-clock] [--sharers N]
//                       [--no-loading-ahead]
//
// --zygote: with --backend cpu, the control socket of a worker's zygote that interprets kernels.
// --wall-clock: with --backend cpu, answers requests for times by the host's clock (tests).
// --no-loading-ahead: libraries are loaded when a request needs them.
// --sharers: so many executors share the device's memory.
//
// The executor owns one device, or its part of one. It answers requests on an inherited stream
// socket until that closes. Exit codes: 0 closed, 2 wrong arguments, 3 the machine is at fault (no
// GPU, another torch), 17 the device was lost.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "executor/aten/torch_version.h"
#include "executor/device/cpu_backend.h"
#include "executor/server.h"
#include "executor/trial/timing.h"
#include "formats/base/error.h"
#ifdef KW_WITH_CUDA
#include "executor/device/cuda_backend.h"
#include "executor/trial/cuda_timing.h"
#endif

namespace kw::exec {
namespace {

struct Options {
  int socket = -1;
  std::string backend = "cpu";
  CpuBackendConfig cpu;
  bool wall_clock = false, loads_ahead = true;
  int sharers = 1;
};

Options parse(int argc, char** argv) {
  Options options;
  options.cpu.worker = default_worker_config();
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--no-sandbox") {
      options.cpu.worker.sandbox = false;
      continue;
    }
    if (flag == "--no-loading-ahead") {
      options.loads_ahead = false;
      continue;
    }
    if (flag == "--wall-clock") {
      options.wall_clock = true;
      continue;
    }
    if (i + 1 == argc) throw InputError(flag + " needs a value");
    const std::string value = argv[++i];
    if (flag == "--socket")
      options.socket = std::atoi(value.c_str());
    else if (flag == "--backend")
      options.backend = value;
    else if (flag == "--python")
      options.cpu.worker.python = value;
    else if (flag == "--worker-dir")
      options.cpu.worker.worker_dir = value;
    else if (flag == "--sharers")
      options.sharers = std::atoi(value.c_str());
    else if (flag == "--zygote")
      options.cpu.zygote = UniqueFd(std::atoi(value.c_str()));
    else
      throw InputError("unknown flag " + flag);
  }
  if (options.socket < 0) throw InputError("--socket FD is missing");
  if (options.sharers < 1) throw InputError("--sharers N is 1 or more");
  return options;
}

int run(Options options) {
  check_torch_version();
  std::unique_ptr<Backend> backend;
  Timer timer;
  if (options.backend == "cpu") {
    backend = make_cpu_backend(std::move(options.cpu));
    if (options.wall_clock) {
      timer = [&](const TimeRequest& request, const std::vector<LoadedTask*>& tasks) {
        WallClock clock;
        return time_runs(*backend, clock, request, tasks, {});
      };
    }
  } else if (options.backend == "cuda") {
#ifdef KW_WITH_CUDA
    backend = make_cuda_backend(options.sharers);
    timer = [&](const TimeRequest& request, const std::vector<LoadedTask*>& tasks) {
      return time_on_cuda(*backend, request, tasks);
    };
#else
    throw EnvironmentError("--backend cuda: this build's PyTorch (" KW_TORCH_VERSION
                           ") has no CUDA; build with a CUDA PyTorch (make build PYTHON=...)");
#endif
  } else {
    throw InputError("--backend is cpu or cuda, not \"" + options.backend + "\"");
  }
  FrameChannel channel{UniqueFd(options.socket)};
  const int code = Server(*backend, timer, options.loads_ahead).serve(channel);
  // Destructors would wait for a device that is gone.
  if (code == Server::kLostExit) std::_Exit(code);
  return code;
}

}  // namespace
}  // namespace kw::exec

int main(int argc, char** argv) {
  try {
    return kw::exec::run(kw::exec::parse(argc, argv));
  } catch (const kw::InputError& error) {
    std::fprintf(stderr, "kernelwright-executor: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernelwright-executor: %s\n", error.what());
    return 3;
  }
}
