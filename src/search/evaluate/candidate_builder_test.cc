#include "search/evaluate/candidate_builder.h"

#include <map>
#include <set>

#include "search/form/test_form.h"
#include "verify/test_workers.h"

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

// Workers of which each kind of source has its own end.
FakeWorkers by_source() {
  return FakeWorkers([](const Json& request) {
    const std::string source = request.at("source");
    if (source == "fails") return failed_result(JobResult::Status::kFailed, "out of memory");
    if (source == "tuned") return recorded_result({fake_kernel(64)}, 2);
    if (request.at("kind") == "record") return recorded_result({fake_kernel(64)});
    if (source == "no kernel") {
      return failed_result(JobResult::Status::kRefused, "no such name", "compile");
    }
    return compiled_result(request);
  });
}

RecordRequest built_from(const std::string& source) {
  RecordRequest request;
  request.text = source;
  request.file = "proposal.py";
  request.profile = device_profile("h200");
  return request;
}

TEST(Building, NamesTheStageAndWhetherItIsSettled) {
  FakeWorkers workers = by_source();
  const VerifyOptions options;
  CandidateBuilder builder(workers, options);
  for (const char* source : {"right", "fails", "tuned", "no kernel", "caf\xE9"}) {
    builder.submit(built_from(source));
  }
  std::map<size_t, CandidateBuilder::Built> built;
  while (!builder.empty()) {
    for (auto& one : builder.take(Clock::time_point::max())) built.emplace(one.number, one);
  }
  ASSERT_EQ(built.size(), 5u);
  EXPECT_TRUE(built[0].task);
  EXPECT_TRUE(built[1].fault.starts_with("record: ")) << built[1].fault;
  EXPECT_FALSE(built[1].settled);  // another run may not meet it
  EXPECT_TRUE(built[2].fault.starts_with("record: an autotuned kernel")) << built[2].fault;
  EXPECT_TRUE(built[2].settled);
  EXPECT_TRUE(built[3].fault.starts_with("compile: ")) << built[3].fault;
  EXPECT_TRUE(built[3].settled);
  EXPECT_TRUE(built[4].fault.starts_with("record: ")) << built[4].fault;
  EXPECT_EQ(workers.pending(), 0u);
}

TEST(Building, WhatIsGivenUpEndsAndTheRestGoesOn) {
  FakeWorkers workers = by_source();
  const VerifyOptions options;
  CandidateBuilder builder(workers, options);
  const size_t slow = builder.submit(built_from("right"));
  const size_t good = builder.submit(built_from("right"));
  builder.give_up(slow);
  std::set<size_t> built, given_up;
  while (!builder.empty()) {
    for (const auto& one : builder.take(Clock::time_point::max())) {
      (one.given_up ? given_up : built).insert(one.number);
    }
  }
  EXPECT_EQ(built, std::set<size_t>{good});
  EXPECT_EQ(given_up, std::set<size_t>{slow});
}

TEST(Building, LeavesNothingWithTheWorkers) {
  FakeWorkers workers = by_source();
  const VerifyOptions options;
  {
    CandidateBuilder builder(workers, options);
    for (int i = 0; i < 5; ++i) builder.submit(built_from("right"));
    EXPECT_EQ(workers.pending(), 5u);
  }
  EXPECT_EQ(workers.pending(), 0u);
}

}  // namespace
}  // namespace kw
