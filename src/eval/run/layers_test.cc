#include "eval/run/layers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLaunches =
    "@triton.jit\ndef k(x):\n    pass\n\n\ndef f(x):\n    k[(1,)](x)\n";

// A run of one model whose samples are these, in the order of a folder's files.
class LayersTest : public testing::Test {
 protected:
  void sample(const std::string& outcome, const std::string& rejected_at, Json allclose,
              const std::string& source, bool in_full = true) {
    if (!source.empty()) {
      std::ofstream(folder_.path() / ("x." + std::to_string(samples_.size()) + ".fragment.py"))
          << source;
    }
    samples_.push_back({{"outcome", outcome},
                        {"rejected_at", rejected_at.empty() ? Json() : Json(rejected_at)},
                        {"reason", ""},
                        {"in_full", in_full},
                        {"degenerate", false},
                        {"speedup_eager", Json()},
                        {"speedup_compile", Json()},
                        {"allclose", std::move(allclose)}});
  }
  EvalRun run() {
    const Json line = {{"model", "x.py"}, {"files", "x"},          {"task", "t"},
                       {"reason", ""},    {"outcome", "verified"}, {"samples", samples_}};
    std::ofstream(folder_.path() / kEvalLinesFile)
        << Json{{"eval", {{"flags", Json::object()}}}}.dump() << "\n"
        << line.dump() << "\n";
    return read_eval_run(folder_.path());
  }

  const ScratchFolder folder_;
  Json samples_ = Json::array();
};

void expect(const Layer& layer, const std::string& name, std::vector<size_t> numbers) {
  EXPECT_EQ(layer.name, name);
  EXPECT_EQ((std::vector<size_t>{layer.known, layer.removed, layer.left, layer.rejected,
                                 layer.rejected_accepted, layer.passed_rejected}),
            numbers)
      << name;
}

TEST_F(LayersTest, EachInTurnAndByItself) {
  sample("accepted", "", true, kLaunches);                                         // 0
  sample("accepted", "", true, std::string(kLaunches) + "    torch.add(x, x)\n");  // 1
  sample("rejected", "correct", true, kLaunches);                                  // 2
  sample("rejected", "correct", false, kLaunches);                                 // 3
  sample("rejected", "compile", Json(), kLaunches, false);                         // 4
  sample("rejected", "coverage", Json(), "import torch\n");                        // 5
  sample("rejected", "load", Json(), "", false);                                   // 6
  sample("not judged", "", Json(), kLaunches);                                     // no verdict
  sample("accepted", "", true, kLaunches, false);                                  // a first look
  Opinions opinions;
  Opinion delegates{.delegates = true}, fault{.fault = "no answer"};
  opinions[{"x.py", "", 0}] = delegates;
  opinions[{"x.py", "", 3}] = Opinion{};
  opinions[{"x.py", "", 5}] = delegates;
  opinions[{"x.py", "", 2}] = fault;
  const std::vector<Layer> layers = layers_of(run(), "", opinions);
  ASSERT_EQ(layers.size(), 6u);
  // known, removed, left, rejected, of these accepted, passed though rejected
  expect(layers[0], "rule", {6, 2, 5, 2, 1, 3});      // 1 and 5; passes 2, 3, 4
  expect(layers[1], "opinion", {3, 1, 4, 2, 1, 1});   // 0 and 5; passes 3
  expect(layers[2], "compile", {7, 2, 2, 2, 0, 3});   // 4 and 6; passes 2, 3, 5
  expect(layers[3], "coverage", {5, 0, 2, 1, 0, 2});  // 5; passes 2, 3
  expect(layers[4], "allclose", {4, 1, 1, 1, 0, 1});  // 3; passes 2
  expect(layers[5], "verdict", {7, 1, 0, 5, 0, 0});   // 2 is what is left of 2 to 6
}

TEST_F(LayersTest, WhatNothingIsKnownOfIsLeftOut) {
  sample("accepted", "", true, "");
  const std::vector<Layer> layers = layers_of(run(), "", {});
  ASSERT_EQ(layers.size(), 4u);
  expect(layers[0], "compile", {1, 0, 1, 0, 0, 0});
  expect(layers[3], "verdict", {1, 0, 1, 0, 0, 0});
  EXPECT_TRUE(layers_of(run(), "another", {})[0].known == 0);
}

}  // namespace
}  // namespace kw
