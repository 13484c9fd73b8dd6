// Definitions of test_backend.h, in a file that only the test binary compiles.
#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

class FakeLaunch : public PreparedLaunch {
 public:
  FakeLaunch(FakeBackend& backend, FakeKernel kernel)
      : backend_(backend), kernel_(std::move(kernel)) {}
  bool run(std::span<const at::Tensor> tensors) override {
    ++backend_.launches;
    kernel_(tensors);
    return true;
  }

 private:
  FakeBackend& backend_;
  FakeKernel kernel_;
};

class FakeKernels : public KernelSet {
 public:
  FakeKernels(FakeBackend& backend, std::vector<Kernel> kernels)
      : backend_(backend), kernels_(std::move(kernels)) {}
  std::unique_ptr<PreparedLaunch> prepare(const Launch& launch) override {
    return std::make_unique<FakeLaunch>(backend_,
                                        backend_.kernels.at(kernels_.at(launch.kernel).name));
  }

 private:
  FakeBackend& backend_;
  std::vector<Kernel> kernels_;
};

}  // namespace

std::unique_ptr<KernelSet> FakeBackend::load(const std::vector<Kernel>& kernels) {
  return std::make_unique<FakeKernels>(*this, kernels);
}

Json value_json(const std::string& dtype, const std::vector<int64_t>& shape, int storage) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (int d = static_cast<int>(shape.size()) - 2; d >= 0; --d) {
    strides[d] = strides[d + 1] * shape[d + 1];
  }
  return {{"dtype", dtype},
          {"shape", shape},
          {"strides", strides},
          {"offset", 0},
          {"storage", storage}};
}

Json step_json(const std::string& op, Json args, std::vector<int> results,
               std::vector<int> mutated) {
  return {{"op", op}, {"args", std::move(args)}, {"results", results}, {"mutated", mutated}};
}

Json launch_json(int kernel, Json args) {
  return {{"launch", kernel}, {"grid", {1, 1, 1}}, {"args", std::move(args)}};
}

Program make_program(Json values, std::vector<int> inputs, Json steps, std::vector<int> outputs,
                     const std::vector<Kernel>& kernels) {
  const Json json = {{"values", std::move(values)},
                     {"inputs", inputs},
                     {"steps", std::move(steps)},
                     {"outputs", outputs}};
  Program program = program_from_json(JsonReader(json, "program"));
  check_program(program, kernels, "program");
  return program;
}

Kernel make_kernel(const std::string& name, const std::vector<std::string>& types,
                   std::vector<int> writes) {
  Kernel kernel;
  kernel.name = name;
  kernel.source = "# " + name;
  Compiled compiled;
  for (size_t i = 0; i < types.size(); ++i) {
    kernel.params.push_back({"p" + std::to_string(i), types[i]});
    if (types[i][0] == '*') compiled.reads.push_back(static_cast<int>(i));
  }
  compiled.writes = std::move(writes);
  compiled.cubin = "code of " + name;
  compiled.symbol = name;
  kernel.compiled = compiled;
  return kernel;
}

Task make_task(Program inputs, Program forward, std::vector<Kernel> kernels) {
  Task task;
  task.kernels = std::move(kernels);
  task.inputs = std::move(inputs);
  task.forward = std::move(forward);
  for (size_t i = 0; i < task.inputs.outputs.size(); ++i) {
    task.arguments.push_back({{"in", i}});
  }
  Json leaves = Json::array();
  for (size_t i = 0; i < task.forward.outputs.size(); ++i) leaves.push_back({{"out", i}});
  task.result = {{"tuple", leaves}};
  check_task(task);
  return task;
}

Program random_inputs(const std::vector<std::vector<int64_t>>& shapes) {
  Json values = Json::array(), steps = Json::array();
  std::vector<int> outputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int id = static_cast<int>(i);
    values.push_back(value_json("float32", shapes[i], id));
    steps.push_back(step_json("aten.randn.default", {{"size", shapes[i]}}, {id}));
    outputs.push_back(id);
  }
  return make_program(values, {}, steps, outputs);
}

}  // namespace kw::exec
