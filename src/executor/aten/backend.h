// A device and a way to run compiled kernels on it: cpu (worker/interpreter.py in sandboxed
// children) and cuda (machine code through the driver). Tests have a third, with C++ functions as
// kernels.
//
// One thread, the executor's. Tensors given to a launch live on the backend's device. What goes
// wrong is one of three exceptions, so that the replay can say whose fault it was.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "executor/aten/aten.h"
#include "executor/aten/off_device_store.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw {

// The program did something it may not, or that cannot be run: a broken record, an operator that
// refuses its arguments, an illegal access.
class ReplayError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// This backend cannot run the program, right or wrong: a construct outside the interpreter, a task
// too large for memory or patience, an operator without float64 kernels.
class NotJudged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device is lost to this process (a sticky CUDA error): only a new process can go on.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whether what was thrown says that memory was lacking: PyTorch's allocators, libraries that
// allocate for themselves, the driver.
bool lacks_memory(const std::exception& error);

// One launch with everything but its tensors fixed.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
  // `tensors` has one entry for each launch argument, undefined where the argument is none or a
  // number. Enqueues on the current stream. False when bytes around a buffer were overwritten.
  virtual bool run(std::span<const at::Tensor> tensors) = 0;
};

// The kernels of one task, loaded. Outlives the launches it prepared.
class KernelSet {
 public:
  virtual ~KernelSet() = default;
  virtual std::unique_ptr<PreparedLaunch> prepare(const Launch& launch) = 0;
};

class Replay;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual at::Device device() const = 0;
  // {"backend", "device", ...}: what hello reports beside the versions.
  virtual Json describe() const = 0;
  virtual std::unique_ptr<KernelSet> load(const std::vector<Kernel>& kernels) = 0;
  // True when a kernel can reach no memory but its own buffers, so that masters of inputs and
  // reference results may stay where they are while a candidate runs.
  virtual bool isolated() const = 0;
  // True when equal launches on equal bytes give equal bytes (no atomics race).
  virtual bool deterministic() const = 0;
  // Puts results away until a candidate's kernels have run; null when there is no room. At most
  // stow_bytes() of them are kept at a time.
  virtual std::unique_ptr<Stowed> stow(const std::vector<at::Tensor>& tensors) {
    return isolated() ? stow_in_place(tensors) : stow_on_host(tensors);
  }
  virtual int64_t stow_bytes() const { return int64_t{4} << 30; }
  // Where accesses outside of buffers are refused at once: whether guard bytes may be touched.
  virtual void open_guards(bool /*open*/) {}
  // Does what the first trial would wait for, where that takes long: libraries, code of its own.
  virtual void get_ready() {}
  // Memory that nothing uses and that is kept for later goes back to the device.
  virtual void release_memory() {}
  // The same after a request, where more is kept than this process's part of the device.
  virtual void keep_own_part() {}
  virtual void synchronize() = 0;
  virtual void reset_peak_bytes() = 0;
  virtual int64_t peak_bytes() const = 0;
  // Throws DeviceLost when an earlier error has made the device unusable.
  virtual void check_alive() = 0;
};

// Bytes by which a pointer parameter must be aligned, or a number be divisible, because its kernel
// was specialised so ("tt.divisibility"); 1 when it was not.
int64_t divisibility(const Kernel& kernel, size_t param);
// Indices of the parameters that launch arguments fill, in order.
std::vector<size_t> runtime_params(const Kernel& kernel);
// InputError when a number of the launch contradicts what its kernel was specialised for.
void check_specialization(const Kernel& kernel, const Launch& launch);

}  // namespace kw
