#include "verify/blame.h"

#include <gtest/gtest.h>

#include "verify/test_workers.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using Status = JobResult::Status;

RecordRequest failing_request() {
  RecordRequest request;
  request.text = "import triton\n";
  request.file = "candidate.py";
  request.profile = device_profile("h200");
  return request;
}

// `plain` answers the jobs of the plain program that tells whose fault a failure is.
FakeWorkers fails_beside(FakeWorkers::Answer plain) {
  return FakeWorkers([plain](const Json& request) {
    if (request.at("file") == "plain.py") return plain(request);
    return failed_result(Status::kFailed, "out of memory");
  });
}

TEST(Blame, IsTheProgramsWhereAPlainOneIsBuilt) {
  FakeWorkers workers = fails_beside([](const Json& request) {
    return request.at("kind") == "record" ? recorded_result({fake_kernel(64)})
                                          : compiled_result(request);
  });
  const auto outcome =
      build_and_blame(workers, failing_request(), build_within(std::chrono::seconds(1)));
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->status, Status::kRefused);
  EXPECT_EQ(outcome.fault->code, "failed");
  EXPECT_EQ(workers.kinds, (std::vector<std::string>{"record", "record", "record", "compile"}));
}

TEST(Blame, IsTheMachinesWhereNoneIs) {
  FakeWorkers workers =
      fails_beside([](const Json&) { return failed_result(Status::kFailed, "no processes left"); });
  const auto outcome =
      build_and_blame(workers, failing_request(), build_within(std::chrono::seconds(1)));
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->status, Status::kFailed);
  EXPECT_NE(outcome.fault->message.find("out of memory"), std::string::npos);
}

TEST(Blame, ARefusalStaysWhatItIs) {
  FakeWorkers workers([](const Json&) { return failed_result(Status::kFailed, "not asked"); });
  const JobFault refusal{Status::kRefused, "raised", "an error", "candidate.py", 3};
  EXPECT_EQ(blamed(workers, device_profile("h200"), refusal).text(), refusal.text());
  EXPECT_TRUE(workers.kinds.empty());
}

// The plain program is one that real workers build.
TEST(BlameOnProcesses, AFailureIsTheProgramsWhereWorkersWork) {
  WorkerPool pool(default_worker_config());
  const JobFault failure{Status::kFailed, "", "out of memory", "candidate.py", 0};
  const JobFault fault = blamed(pool, device_profile("h200"), failure);
  EXPECT_EQ(fault.status, Status::kRefused);
  EXPECT_EQ(fault.code, "failed");
  EXPECT_NE(fault.message.find("out of memory"), std::string::npos) << fault.message;
}

}  // namespace
}  // namespace kw
