// A backend is a device and a way to run compiled kernels on it. The cpu backend runs
// worker/interpreter.py in sandboxed children, the cuda backend runs machine code through the
// driver. Tests have a third one, whose kernels are C++ functions.
//
// A backend is used by one thread, the executor's. Tensors given to a launch live on the backend's
// device. Failures are one of three exceptions, so that the replay can say whose fault it was.
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

namespace kw::exec {

// The program did something that is not allowed, or that cannot be run. Examples are a broken
// record, an operator that refuses its arguments, and an illegal access.
class ReplayError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// This backend cannot run the program, whether it is right or wrong. Examples are a construct
// outside the interpreter, a task that is too large for memory or time limits, and an operator
// without float64 kernels.
class NotJudged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device is lost to this process, by a sticky CUDA error. Only a new process can go on.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns whether the error says that memory ran out, in PyTorch's allocators, in libraries that
// allocate for themselves, or in the driver.
bool lacks_memory(const std::exception& error);

// One launch with everything but its tensors fixed.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
  // Enqueues the launch on the current stream. `tensors` has one entry for each launch argument,
  // which is undefined if the argument is None or a number. Returns false if bytes around a buffer
  // were overwritten.
  virtual bool run(std::span<const at::Tensor> tensors) = 0;
};

// The loaded kernels of one task. It must outlive the launches that it prepared.
class KernelSet {
 public:
  virtual ~KernelSet() = default;
  virtual std::unique_ptr<PreparedLaunch> prepare(const Launch& launch) = 0;
};

constexpr double kAnyWork = 0x1p60;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual at::Device device() const = 0;
  // Returns {"backend", "device", ...}, which hello reports together with the versions.
  virtual Json describe() const = 0;
  virtual std::unique_ptr<KernelSet> load(const std::vector<Kernel>& kernels) = 0;
  // Returns true if a kernel can reach no memory but its own buffers. Inputs and reference results
  // may then stay where they are while a candidate runs.
  virtual bool isolated() const = 0;
  // Returns true if equal launches on equal bytes give equal bytes, so that no atomics race.
  virtual bool deterministic() const = 0;
  // Puts tensors where no kernel of a candidate reaches them. Returns null if there is no room. At
  // most off_device_bytes() are kept at a time.
  virtual std::unique_ptr<OffDeviceStore> store_off_device(const std::vector<at::Tensor>& tensors) {
    return isolated() ? store_in_place(tensors) : store_on_host(tensors);
  }
  virtual int64_t off_device_bytes() const { return int64_t{4} << 30; }
  // Lets kernels touch guard bytes and break what they promise to the compiler, or not. Only
  // backends that refuse both at once use it.
  virtual void open_guards(bool /*open*/) {}
  // Decides what a device leaves open, such as the order of a launch's programs, as far as the
  // backend can. Seeds in a row give small grids each order in turn.
  virtual void seed_launches(uint64_t /*seed*/) {}
  // Limits what the launches from now on may do together, in operations on elements. Backends that
  // cannot count ignore it. kAnyWork is no limit.
  virtual void limit_work(double /*operations*/) {}
  // Clears the compiler's scratch memory before each launch, or not. Kernels make tensor
  // descriptors there by means that a checker of memory does not see.
  virtual void clear_scratch(bool /*clear*/) {}
  // Does slow work for which the first trial would have to wait, such as loading libraries and
  // compiling the executor's own code.
  virtual void get_ready() {}
  // Gives cached memory that nothing uses back to the device.
  virtual void release_memory() {}
  // Does the same after a request if more is cached than this process's part of the device.
  virtual void keep_own_part() {}
  virtual void synchronize() = 0;
  virtual void reset_peak_bytes() = 0;
  virtual int64_t peak_bytes() const = 0;
  // Throws DeviceLost if an earlier error has made the device unusable.
  virtual void check_alive() = 0;
};

// Returns by how many bytes a pointer parameter must be aligned, or by what a number must be
// divisible, because its kernel was specialised for it ("tt.divisibility"). Returns 1 otherwise.
int64_t divisibility(const Kernel& kernel, size_t param);
// Returns the indices of the parameters that launch arguments fill, in order.
std::vector<size_t> runtime_params(const Kernel& kernel);
// Throws InputError if a number of the launch contradicts what its kernel was specialised for.
void check_specialization(const Kernel& kernel, const Launch& launch);

}  // namespace kw::exec
