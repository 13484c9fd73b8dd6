#include "search/evaluate/candidate_builder.h"

#include <set>

#include "search/form/test_form.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

class BuildingOnProcesses : public FormTest {
 protected:
  void SetUp() override {
    prepare(model("", "        return torch.relu(x)\n", "8, 16"));
    options_.record_deadline = options_.compile_deadline = std::chrono::seconds(60);
  }
  RecordRequest candidate(const std::string& before, const std::string& value) const {
    return proposal_request(
        cut(reference_.task, {0}).task.forward,
        "import torch\nimport triton\nimport triton.language as tl\n\n" + before +
            "\n@triton.jit\ndef k0(x_ptr, y_ptr, n: tl.constexpr):\n"
            "    i = tl.arange(0, n)\n    tl.store(y_ptr + i, " +
            value +
            ")\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
            "        y = torch.empty_like(x)\n        k0[(1,)](x, y, 128)\n        return y\n",
        machine_->profile);
  }

  VerifyOptions options_;
};

TEST_F(BuildingOnProcesses, SaysOfEachWhatBecameOfIt) {
  CandidateBuilder builder(machine_->pool, options_);
  const size_t good = builder.submit(candidate("", "tl.load(x_ptr + i)"));
  const size_t no_python = builder.submit(candidate("this is no Python", "0.0"));
  const size_t no_kernel = builder.submit(candidate("", "nothing_by_this_name"));
  std::set<size_t> seen;
  while (!builder.empty()) {
    for (const auto& built : builder.take(Clock::time_point::max())) {
      EXPECT_TRUE(seen.insert(built.number).second);
      EXPECT_FALSE(built.given_up);
      EXPECT_EQ(built.task.has_value(), built.number == good) << built.fault;
      EXPECT_EQ(built.settled, built.number != good);
      EXPECT_EQ(built.fault.starts_with("record: "), built.number == no_python) << built.fault;
      EXPECT_EQ(built.fault.starts_with("compile: "), built.number == no_kernel) << built.fault;
    }
  }
  EXPECT_EQ(seen, (std::set<size_t>{good, no_python, no_kernel}));
  EXPECT_TRUE(builder.take(Clock::time_point::max()).empty());  // there is nothing to wait for
}

TEST_F(BuildingOnProcesses, WhatIsGivenUpEndsAndTheRestGoesOn) {
  CandidateBuilder builder(machine_->pool, options_);
  const size_t slow = builder.submit(candidate("import time\ntime.sleep(1000)\n", "0.0"));
  const size_t good = builder.submit(candidate("", "tl.load(x_ptr + i) * 1.0"));
  std::set<size_t> built, given_up;
  while (built.empty()) {
    for (const auto& one : builder.take(Clock::now() + std::chrono::milliseconds(20))) {
      if (one.task) built.insert(one.number);
    }
  }
  builder.give_up(slow);
  builder.give_up(good);  // it is done
  while (!builder.empty()) {
    for (const auto& one : builder.take(Clock::time_point::max())) {
      if (one.given_up) given_up.insert(one.number);
    }
  }
  EXPECT_EQ(built, std::set<size_t>{good});
  EXPECT_EQ(given_up, std::set<size_t>{slow});
}

TEST_F(BuildingOnProcesses, LeavesNothingInThePool) {
  {
    CandidateBuilder builder(machine_->pool, options_);
    for (int i = 0; i < 5; ++i) {
      builder.submit(candidate("import time\ntime.sleep(1000)\n", std::to_string(i) + ".0"));
    }
    builder.take(Clock::now() + std::chrono::milliseconds(300));
  }
  EXPECT_EQ(machine_->pool.pending(), 0u);
}

}  // namespace
}  // namespace kw
