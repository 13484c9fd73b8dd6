// For tests: a backend on CPU tensors whose kernels are C++ functions, and functions that make
// programs and tasks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "executor/aten/backend.h"
#include "program/task_json.h"

namespace kw::exec {

using FakeKernel = std::function<void(std::span<const at::Tensor>)>;

class FakeBackend : public Backend {
 public:
  std::map<std::string, FakeKernel> kernels;  // by kernel name
  bool is_isolated = true, is_deterministic = true, is_lost = false;
  int launches = 0;

  at::Device device() const override { return at::kCPU; }
  Json describe() const override { return {{"backend", "fake"}, {"device", "none"}}; }
  std::unique_ptr<KernelSet> load(const std::vector<Kernel>& kernels) override;
  bool isolated() const override { return is_isolated; }
  bool deterministic() const override { return is_deterministic; }
  void synchronize() override {}
  void reset_peak_bytes() override {}
  int64_t peak_bytes() const override { return 1; }
  void check_alive() override {
    if (is_lost) throw DeviceLost("the device is lost");
  }
};

// Returns {"dtype", "shape", ...} of a contiguous value.
Json value_json(const std::string& dtype, const std::vector<int64_t>& shape, int storage);
Json step_json(const std::string& op, Json args, std::vector<int> results,
               std::vector<int> mutated = {});
Json launch_json(int kernel, Json args);
Program make_program(Json values, std::vector<int> inputs, Json steps, std::vector<int> outputs,
                     const std::vector<Kernel>& kernels = {});
// Returns a kernel that writes the parameters in `writes`.
Kernel make_kernel(const std::string& name, const std::vector<std::string>& types,
                   std::vector<int> writes);
// Returns a task without parameters, in which `inputs` makes the arguments of `forward`.
Task make_task(Program inputs, Program forward, std::vector<Kernel> kernels = {});
// Returns a program that makes random float32 inputs of these shapes.
Program random_inputs(const std::vector<std::vector<int64_t>>& shapes);

inline Json v(int id) { return {{"v", id}}; }

}  // namespace kw::exec
