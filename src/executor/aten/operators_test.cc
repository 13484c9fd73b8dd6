#include "executor/aten/operators.h"

#include <gtest/gtest.h>

#include "executor/device/test_backend.h"
#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw::exec {
namespace {

AtenCall call_from(const std::string& op, const Json& args, std::vector<int> mutated = {}) {
  AtenCall call;
  call.op = op;
  for (const auto& [name, arg] : args.items()) {
    call.args[name] = arg_from_json(JsonReader(arg, name));
  }
  call.mutated = std::move(mutated);
  return call;
}

std::vector<at::Tensor> run(const std::string& op, const Json& args,
                            const std::vector<at::Tensor>& slots) {
  return OperatorCall(call_from(op, args), at::kCPU).run(slots);
}

void expect_same(const at::Tensor& got, const at::Tensor& expected) {
  ASSERT_TRUE(got.defined());
  EXPECT_EQ(got.scalar_type(), expected.scalar_type());
  EXPECT_EQ(got.sizes(), expected.sizes());
  EXPECT_TRUE(at::equal(got, expected)) << got << expected;
}

TEST(Operators, MatchDirectCalls) {
  const at::Tensor x = at::randn({2, 3, 4}), w = at::randn({5, 4}), b = at::randn({5});
  expect_same(
      run("aten.linear.default", {{"input", v(0)}, {"weight", v(1)}, {"bias", v(2)}}, {x, w, b})[0],
      at::linear(x, w, b));
  expect_same(
      run("aten.linear.default", {{"input", v(0)}, {"weight", v(1)}, {"bias", nullptr}}, {x, w})[0],
      at::linear(x, w));
  expect_same(run("aten.mean.dim", {{"self", v(0)}, {"dim", {0, 2}}, {"keepdim", true}}, {x})[0],
              x.mean(at::IntArrayRef{0, 2}, true));
  expect_same(run("aten.sum.dim_IntList", {{"self", v(0)}, {"dim", 1}}, {x})[0], x.sum(1));
  expect_same(run("aten.gelu.default", {{"self", v(0)}, {"approximate", "tanh"}}, {x})[0],
              at::gelu(x, "tanh"));
  expect_same(run("aten.add.Tensor", {{"self", v(0)}, {"other", v(0)}, {"alpha", 0.5}}, {x})[0],
              at::add(x, x, 0.5));
  expect_same(
      run("aten.clamp.default", {{"self", v(0)}, {"min", {{"f", "-inf"}}}, {"max", 0.25}}, {x})[0],
      x.clamp_max(0.25));
}

TEST(Operators, ListsOfTensorsGoInAndComeOut) {
  const at::Tensor x = at::randn({4, 6});
  expect_same(run("aten.cat.default", {{"tensors", {v(0), v(1)}}, {"dim", 1}}, {x, x})[0],
              at::cat({x, x}, 1));
  const auto parts = run("aten.split.Tensor", {{"self", v(0)}, {"split_size", 4}, {"dim", 1}}, {x});
  ASSERT_EQ(parts.size(), 2u);
  expect_same(parts[1], x.slice(1, 4, 6));
  const at::Tensor w = at::randn({6}), b = at::randn({6});
  const auto norm = run(
      "aten.native_layer_norm.default",
      {{"input", v(0)}, {"normalized_shape", {6}}, {"weight", v(1)}, {"bias", v(2)}, {"eps", 1e-5}},
      {x, w, b});
  ASSERT_EQ(norm.size(), 3u);
  expect_same(norm[0], at::layer_norm(x, {6}, w, b));
}

TEST(Operators, NumbersInPlaceOfTensorsPromoteAsPythonNumbers) {
  const at::Tensor half = at::randn({3}).to(at::kHalf), ints = at::arange(3);
  for (const at::Tensor& x : {half, ints, ints.to(at::kInt), half.to(at::kDouble)}) {
    for (const Json& number : {Json(3), Json(0.5), Json(true)}) {
      const at::Scalar scalar = number.is_boolean()        ? at::Scalar(true)
                                : number.is_number_float() ? at::Scalar(0.5)
                                                           : at::Scalar(int64_t{3});
      expect_same(run("aten.mul.Tensor", {{"self", v(0)}, {"other", number}}, {x})[0],
                  at::mul(x, scalar));
    }
  }
}

TEST(Operators, DtypesDevicesLayoutsAndFormats) {
  const at::Tensor image = at::randn({2, 3, 4, 5});
  const Json options = {{"dtype", {{"dtype", "float16"}}},
                        {"device", {{"device", "cuda"}}},
                        {"layout", {{"layout", "strided"}}}};
  Json full = options;
  full["size"] = {2, 2};
  full["fill_value"] = 1.5;
  expect_same(run("aten.full.default", full, {})[0], at::full({2, 2}, 1.5, at::kHalf));
  Json cast = options;
  cast["self"] = v(0);
  expect_same(run("aten._to_copy.default", cast, {image})[0], image.to(at::kHalf));
  const auto last =
      run("aten.clone.default",
          {{"self", v(0)}, {"memory_format", {{"memory_format", "channels_last"}}}}, {image})[0];
  EXPECT_TRUE(last.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(Operators, ConstantsAreFreshEachTime) {
  const Json args = {
      {"data", {1, 2.5, {{"f", "inf"}}, 4}}, {"shape", {2, 2}}, {"dtype", {{"dtype", "float32"}}}};
  const OperatorCall call(call_from("kernelwright.constant.default", args), at::kCPU);
  call.run({})[0].zero_();
  const at::Tensor expected =
      at::tensor({1.0, 2.5, std::numeric_limits<double>::infinity(), 4.0}).to(at::kFloat);
  expect_same(call.run({})[0], expected.view({2, 2}));
}

TEST(Operators, OptionalTensorLists) {
  const at::Tensor x = at::randn({3, 4, 5}), rows = at::tensor({3, 0, 3});
  expect_same(
      run("aten.index.Tensor", {{"self", v(0)}, {"indices", {nullptr, v(1)}}}, {x, rows})[0],
      x.index_select(1, rows));
  EXPECT_THROW(run("aten.cat.default", {{"tensors", {v(0), nullptr}}}, {x}), InputError);
}

TEST(Operators, BrokenCallsAreInputErrors) {
  const auto make = [](const std::string& op, const Json& args, std::vector<int> mutated = {}) {
    OperatorCall(call_from(op, args, std::move(mutated)), at::kCPU);
  };
  EXPECT_THROW(make("aten.no_such_thing.default", {{"self", v(0)}}), InputError);
  EXPECT_THROW(make("mul", {{"self", v(0)}}), InputError);
  EXPECT_THROW(make("aten.from_file.default", {{"filename", "x"}, {"size", 1}}), InputError);
  EXPECT_THROW(make("aten.mul.Tensor", {{"self", v(0)}}), InputError);
  EXPECT_THROW(make("aten.relu.default", {{"self", v(0)}, {"other", 1}}), InputError);
  EXPECT_THROW(make("aten.relu.default", {{"self", "text"}}), InputError);
  EXPECT_THROW(make("aten.sum.dim_IntList", {{"self", v(0)}, {"dim", {0.5}}}), InputError);
  EXPECT_THROW(make("aten.cat.default", {{"tensors", {v(0), 3}}}), InputError);
  EXPECT_THROW(make("aten.relu_.default", {{"self", v(0)}}), InputError) << "hides a write";
  EXPECT_THROW(make("aten.relu_.default", {{"self", v(0)}}, {0, 1}), InputError)
      << "of no argument";
  EXPECT_NO_THROW(make("aten.relu_.default", {{"self", v(0)}}, {0}));
}

TEST(Operators, OutsideOfTheTableAreThoseOfTensorsAlone) {
  const at::Tensor x = at::rand({3, 4}), y = at::rand({5});
  expect_same(run("aten.special_i0e.default", {{"self", v(0)}}, {x})[0], at::special_i0e(x));
  expect_same(
      run("aten.isin.Tensor_Tensor", {{"elements", v(0)}, {"test_elements", v(1)}}, {x, y})[0],
      at::isin(x, y));
  const auto refused = [](const std::string& op, const Json& args) {
    try {
      OperatorCall call(call_from(op, args), at::kCPU);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::vector<std::pair<std::string, Json>> others = {
      {"aten.from_file.default", {{"filename", "/etc/passwd"}, {"size", 4}}},  // takes no tensor
      {"aten._standard_gamma.default", {{"self", v(0)}}},                      // draws
      {"aten.set_.source_Tensor", {{"self", v(0)}, {"source", v(1)}}},         // exchanges memory
      {"aten.masked_select.default", {{"self", v(0)}, {"mask", v(1)}}},        // sized by data
      {"aten._resize_output_.default",
       {{"self", v(0)}, {"size", {9}}, {"device", {{"device", "cuda"}}}}},
      {"aten.is_nonzero.default", {{"self", v(0)}}}};  // returns no tensor
  for (const auto& [op, args] : others) {
    EXPECT_NE(refused(op, args).find("no operator that a program may call"), std::string::npos)
        << op;
  }
}

TEST(Operators, EmptyFamily) {
  for (const char* op : {"aten.empty.memory_format", "aten.empty_like.default",
                         "aten.new_empty.default", "aten.empty_strided.default",
                         "aten.new_empty_strided.default", "aten.empty_permuted.default"}) {
    EXPECT_TRUE(makes_empty(op)) << op;
  }
  for (const char* op : {"aten.zeros.default", "aten.full.default", "kernelwright.empty.default"}) {
    EXPECT_FALSE(makes_empty(op)) << op;
  }
}

}  // namespace
}  // namespace kw::exec
