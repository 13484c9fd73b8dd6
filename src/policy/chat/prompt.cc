#include "policy/chat/prompt.h"

#include "program/python/python_text.h"
#include "program/python/step_writer.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

// Returns the description of a tensor, such as "float32 (4, 8)", with all that is needed to make
// another like it.
std::string value_text(const Value& value) {
  std::string out = std::string(dtype_name(value.dtype)) + " " + python_tuple(value.shape);
  if (value.strides != contiguous_strides(value.shape)) {
    out += " strides " + python_tuple(value.strides);
  }
  if (value.offset != 0) out += " offset " + std::to_string(value.offset);
  return out;
}

// Returns a note on the first input before `k` in the same memory; empty if there is none.
std::string shared_with(const Program& program, size_t k) {
  for (size_t j = 0; j < k; ++j) {
    if (program.values[program.inputs[j]].storage == program.values[program.inputs[k]].storage) {
      return " in the memory of a" + std::to_string(j);
    }
  }
  return "";
}

// Returns the comment on a step's result, such as "  # float32 (4, 8)"; empty if it has none.
std::string results_text(const Program& program, const Step& step) {
  std::string out;
  for (ValueId id : step_defines(step)) {
    out += (out.empty() ? "  # " : ", ") + value_text(program.values[id]);
  }
  return out;
}

}  // namespace

std::string task_text(const Task& task, int first_value) {
  const Program& program = task.forward;
  StepWriter writer(task, program, first_value);
  std::string out;
  for (const Kernel& kernel : task.kernels) out += kernel.source + "\n\n";
  out += "def forward(";
  if (!program.inputs.empty()) out += "\n";
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    const std::string name = "a" + std::to_string(k);
    writer.name(program.inputs[k], name);
    out += "    " + name + ",  # " + value_text(program.values[program.inputs[k]]) +
           shared_with(program, k) + "\n";
  }
  out += "):\n";
  for (const Step& step : program.steps) {
    out += "    " + writer.statement(step) + results_text(program, step) + "\n";
  }
  return out + "    return " + writer.result(task.result) + "\n";
}

namespace {

constexpr char kWritePrompt[] =
    R"(You write fast Triton kernels. You are given a PyTorch function and answer with a Python module that computes the same, faster.

Answer in two parts:
1. A plan: one line for each kernel, with the values it computes (by their names in the function), its family (pointwise, reduction, matmul, ...), its tiling, warps and stages.
2. One ```python block with the whole module: imports, the `@triton.jit` kernels, and `class ModelNew(torch.nn.Module)`, whose `forward(self, ...)` takes the function's arguments, in order, and returns what it returns, with the same dtypes, shapes and strides.

Rules:
- All heavy work is done in Triton kernels. PyTorch may allocate results (torch.empty and its like) and make views.
- ModelNew() is constructed without arguments and has no parameters. Nothing is kept between calls, arguments are not written to.
- Host code reads shapes and strides from its arguments and computes grids from them.
- Host code reads no value of a tensor (no .item(), .tolist(), .cpu(), no `if` on a tensor), and nothing in it depends on data.
- No torch.compile, no CUDA graphs, no streams, no custom operators, no files, no other modules than torch, triton and math.
- tl.dot on float32 uses input_precision="ieee", unless the function is a convolution, where "tf32" will do. Sums are kept in float32.
- Arguments are what the comments of the function say: dtype and shape, and strides where they are not those of a contiguous tensor.
)";

std::string gigabytes_per_second(double bytes) {
  return std::to_string(static_cast<int64_t>(bytes / 1e9)) + " GB/s";
}

}  // namespace

Prompt make_prompt(const Task& task, const DeviceProfile& profile) {
  const std::string arguments = [&] {
    std::string out;
    for (size_t k = 0; k < task.forward.inputs.size(); ++k) out += ", a" + std::to_string(k);
    return out;
  }();
  std::string user =
      "Device: " + profile.name + " (" + profile.arch + ", " + std::to_string(profile.sms) +
      " SMs, " + std::to_string(profile.shared_per_block / 1024) + " KiB shared memory a block, " +
      gigabytes_per_second(profile.bytes_per_second) + ").\n\n";
  user += "```python\nimport torch\n\n" + task_text(task) + "```\n\n";
  return {kWritePrompt, user + "Write ModelNew with `forward(self" + arguments + ")`."};
}

}  // namespace kw
