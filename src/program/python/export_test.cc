#include "program/python/export.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw {
namespace {

// Tuples and descriptors are flat in a launch, and in its text have the form that the kernel takes.
TEST(Export, LaunchArgumentsTakeTheirFormAgain) {
  Task task;
  task.source = {"model.py", "Model", {}, {"x"}};
  Kernel kernel;
  kernel.name = "k";
  kernel.params = {{"pair.0", "*fp32"},
                   {"pair.1.0", "constexpr"},
                   {"pair.1.1", "i32"},
                   {"flag", "i32"},
                   {"d", "tensordesc<fp32[4, 8]>"},
                   {"d.shape.0", "i32"},
                   {"d.shape.1", "i32"},
                   {"d.strides.0", "i64"},
                   {"d.strides.1", "i64"},
                   {"BLOCK", "constexpr"},
                   {"last", "i32"}};
  kernel.constexprs = {{"1", 1}, {"9", 64}};
  kernel.source = "import triton\n\n\n@triton.jit\ndef k(pair, flag, d, BLOCK, last):\n    pass\n";
  kernel.compiled = Compiled{.arch = "sm_90", .reads = {0}, .writes = {4}};
  task.kernels = {kernel};
  const Value value{DType::kFloat32, {16, 32}, {32, 1}, 0, 0};
  const auto empty = [](ValueId id) {
    return AtenCall{
        "aten.empty.memory_format", {{"size", {ArgList{{int64_t{16}}, {int64_t{32}}}}}}, {id}, {}};
  };
  task.inputs.values = {value};
  task.inputs.steps = {empty(0)};
  task.inputs.outputs = {0};
  task.forward.values = {value, value};
  task.forward.values[1].storage = 1;
  task.forward.inputs = {0};
  task.forward.steps = {empty(1), Launch{0,
                                         {2, 1, 1},
                                         {{ValueRef{0}},
                                          {int64_t{7}},
                                          {int64_t{5}},
                                          {ValueRef{1}},
                                          {int64_t{16}},
                                          {int64_t{32}},
                                          {int64_t{32}},
                                          {int64_t{1}},
                                          {int64_t{9}}}}};
  task.forward.outputs = {1};
  task.arguments = Json::array({{{"in", 0}}});
  task.result = {
      {"object",
       {{"type", "Out"}, {"kind", "tuple"}, {"fields", {{"y", {{"out", 0}}}, {"n", 3}}}}}};
  const std::string text = export_python(task, "class Model: pass\n");
  // A number behind a constant: the constant has no name then.
  EXPECT_NE(text.find("_kw_launch_0 = _kw_Launch(k, (2, 1, 1), dict(), dict(), "
                      "{2: (_kw_descriptors.TensorDescriptor, [16, 32, ], [32, 1, ], [4, 8])})\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("_kw_launch_0(where, (x_, (1, 7, ), ), 5, t0, 64, 9)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("return Out(n=3, y=t0, )"), std::string::npos) << text;
  // A view of a tensor may start where no descriptor can.
  EXPECT_NE(text.find("storage_offset"), std::string::npos);
}

TEST(Export, ReachesAttributesThatPythonHasNoSyntaxFor) {
  Task task;
  task.source = {"model.py", "Model", {}, {}};
  task.state = {{{"d.lambda"}, "parameter"}, {{"d.a-b"}, "parameter"}, {{"d.none"}, "parameter"}};
  for (int i = 0; i < 3; ++i) {
    task.forward.values.push_back({DType::kFloat32, {4}, {1}, 0, i});
    task.forward.inputs.push_back(i);
  }
  task.forward.outputs = {0, 1, 2};
  task.result = {{"tuple", {{{"out", 0}}, {{"out", 1}}, {{"out", 2}}}}};
  const std::string text = export_python(task, "class Model: pass\n");
  EXPECT_NE(text.find("p0 = getattr(self.d, \"lambda\")\n"), std::string::npos) << text;
  EXPECT_NE(text.find("p1 = getattr(self.d, \"a-b\")\n"), std::string::npos) << text;
  EXPECT_NE(text.find("p2 = self.d.none\n"), std::string::npos) << text;
}

// Nothing of a Task is pasted unchecked: an operator is one of the lists, and arguments have names.
TEST(Export, OpaqueOperatorsAreCalledByNames) {
  Task task;
  task.source = {"model.py", "Model", {}, {"x"}};
  task.inputs.values = {{DType::kFloat32, {4}, {1}, 0, 0}};
  task.inputs.outputs = {0};
  task.forward.values = {{DType::kFloat32, {4}, {1}, 0, 0}, {DType::kFloat32, {4}, {1}, 0, 1}};
  task.forward.inputs = {0};
  task.forward.outputs = {1};
  task.arguments = Json::array({{{"in", 0}}});
  task.result = {{"out", 0}};
  const auto with = [&](const std::string& op, const std::string& name) {
    task.forward.steps = {AtenCall{op, {{"self", {ValueRef{0}}}, {name, {int64_t{4}}}}, {1}, {}}};
    return export_python(task, "class Model: pass\n");
  };
  EXPECT_NE(
      with("aten.histc.default", "bins").find("= torch.ops.aten.histc.default(bins=4, self=x_)"),
      std::string::npos)
      << with("aten.histc.default", "bins");
  EXPECT_THROW(with("aten.save.default", "bins"), InputError);
  EXPECT_THROW(with("aten.histc.default(f(), ", "bins"), InputError);
  for (const char* name : {"bins=f(), b", "*", "class", "", "b ins", "b\nf()"}) {
    EXPECT_THROW(with("aten.histc.default", name), InputError) << name;
  }
}

// Triton takes one keyword for both.
TEST(Export, ParametersMayHaveTheNamesOfOptions) {
  Kernel kernel;
  kernel.name = "k";
  kernel.params = {{"x", "*fp32"}, {"num_stages", "constexpr"}};
  kernel.constexprs = {{"1", 2}};
  kernel.options = {{"num_stages", 2}, {"num_warps", 8}};
  kernel.source = "import triton\n\n\n@triton.jit\ndef k(x, num_stages):\n    pass\n";
  kernel.compiled = Compiled{.arch = "sm_90", .writes = {0}};
  Task task;
  task.source = {"model.py", "Model", {}, {}};
  task.kernels = {kernel};
  task.state = {{{"x"}, "buffer"}};
  task.forward.values = {Value{DType::kFloat32, {4}, {1}, 0, 0}};
  task.forward.inputs = {0};
  task.forward.steps = {Launch{0, {1, 1, 1}, {{ValueRef{0}}}}};
  const auto has = [&](const std::string& line) {
    return export_python(task, "").find(line) != std::string::npos;
  };
  EXPECT_TRUE(
      has("_kw_Launch(k, (1, 1, 1), dict(num_stages=2), dict(num_stages=2, num_warps=8))\n"));
  EXPECT_TRUE(has("_kw_launch_0(where, p0)\n"));
  // Behind such a parameter is an argument: only Triton's own call can name both.
  const std::string source = task.kernels[0].source;
  task.kernels[0].source = "import triton\n\n\n@triton.jit\ndef k(x, num_stages, n):\n    pass\n";
  task.kernels[0].params.push_back({"n", "i32"});
  task.forward.steps = {Launch{0, {1, 1, 1}, {{ValueRef{0}}, {int64_t{3}}}}};
  EXPECT_TRUE(has("k[(1, 1, 1)](p0, num_stages=2, n=3, num_warps=8)\n"));
  task.kernels[0].source = source;
  task.kernels[0].params.pop_back();
  task.forward.steps = {Launch{0, {1, 1, 1}, {{ValueRef{0}}}}};
  task.kernels[0].options["num_stages"] = 3;
  EXPECT_THROW(export_python(task, ""), InputError);
  task.kernels[0].params[1].type = "i32";
  task.forward.steps = {Launch{0, {1, 1, 1}, {{ValueRef{0}}, {int64_t{3}}}}};
  EXPECT_THROW(export_python(task, ""), InputError);
}

TEST(Export, GuardsAnAlignmentThatWasAskedFor) {
  Task task;
  task.source = {"model.py", "Model", {}, {}};
  EXPECT_EQ(export_python(task, "").find("storage_offset"), std::string::npos);
  task.source.aligned = true;
  EXPECT_NE(export_python(task, "").find("storage_offset"), std::string::npos);
  const Json json = to_json(task);
  EXPECT_TRUE(task_from_json(JsonReader(json, ""), nullptr).source.aligned);
}

// The architecture is written as two numbers, and Python has no number 09.
TEST(Export, WritesForAnArchitecture) {
  Task task;
  task.source = {"model.py", "Model", {}, {}};
  for (const char* target : {"sm_80", "sm_90", "sm_103"}) {
    task.target = target;
    EXPECT_NE(export_python(task, "").find("(gpu.major, gpu.minor) == ("), std::string::npos);
  }
  for (const char* target : {"", "sm_", "sm_9", "sm_09", "sm_0900", "sm_9x", "gfx942", "sm_90a"}) {
    task.target = target;
    EXPECT_THROW(export_python(task, ""), InputError) << target;
  }
}

}  // namespace
}  // namespace kw
