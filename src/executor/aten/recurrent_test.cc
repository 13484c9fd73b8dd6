#include "executor/aten/recurrent.h"

#include <gtest/gtest.h>

#include <set>

#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

// Takes x [5, 2, 8], h and c [2, 2, 16], and two layers of weights without biases.
Program lstm(Json params) {
  Json values = {value_json("float32", {5, 2, 8}, 0),  value_json("float32", {2, 2, 16}, 1),
                 value_json("float32", {2, 2, 16}, 2), value_json("float32", {64, 8}, 3),
                 value_json("float32", {64, 16}, 4),   value_json("float32", {64, 16}, 5),
                 value_json("float32", {64, 16}, 6),   value_json("float32", {5, 2, 16}, 7),
                 value_json("float32", {2, 2, 16}, 8), value_json("float32", {2, 2, 16}, 9)};
  Json step = step_json("aten.lstm.input",
                        {{"input", v(0)},
                         {"hx", {v(1), v(2)}},
                         {"params", std::move(params)},
                         {"has_biases", false},
                         {"num_layers", 2},
                         {"dropout", 0.0},
                         {"train", false},
                         {"bidirectional", false},
                         {"batch_first", false}},
                        {7, 8, 9});
  return make_program(values, {3, 4, 5, 6, 0, 1, 2}, {step}, {7, 8, 9});
}

std::vector<at::Tensor> weights(at::Device device) {
  at::manual_seed(1);
  std::vector<at::Tensor> out = {at::randn({64, 8})};
  for (int i = 0; i < 3; ++i) out.push_back(at::randn({64, 16}));
  for (at::Tensor& weight : out) weight = weight.to(device);
  return out;
}

std::set<const void*> storages(const std::vector<at::Tensor>& tensors) {
  std::set<const void*> out;
  for (const at::Tensor& tensor : tensors) out.insert(tensor.storage().data());
  return out;
}

TEST(Recurrent, WeightsOfACpuStayWhereTheyAre) {
  const std::vector<at::Tensor> inputs = weights(at::kCPU);
  const auto before = storages(inputs);
  flatten_recurrent_weights(lstm({v(3), v(4), v(5), v(6)}), inputs);
  EXPECT_EQ(storages(inputs), before);
}

#ifdef KW_WITH_CUDA
TEST(Recurrent, WeightsOfAGpuAreOnePieceOfMemory) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto plain = weights(at::kCUDA), flat = weights(at::kCUDA);
  flatten_recurrent_weights(lstm({v(3), v(4), v(5), v(6)}), flat);
  EXPECT_EQ(storages(flat).size(), 1u);
  for (size_t i = 0; i < flat.size(); ++i) EXPECT_TRUE(flat[i].equal(plain[i])) << i;
}

TEST(Recurrent, WeightsThatShareMemoryStayWhereTheyAre) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  std::vector<at::Tensor> inputs = weights(at::kCUDA);
  inputs[3] = inputs[2];
  const auto before = storages(inputs);
  flatten_recurrent_weights(lstm({v(3), v(4), v(5), v(6)}), inputs);
  EXPECT_EQ(storages(inputs), before);
}
#endif

}  // namespace
}  // namespace kw::exec
