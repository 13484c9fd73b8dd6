#include "verify/candidate_build.h"

#include <gtest/gtest.h>

#include "verify/test_workers.h"

namespace kw {
namespace {

using Status = JobResult::Status;

RecordRequest a_request(const std::string& text = "import triton\n") {
  RecordRequest request;
  request.text = text;
  request.file = "candidate.py";
  request.profile = device_profile("h200");
  return request;
}

std::string kind_of(const CandidateBuild& build) {
  return build.next()->request.json.at("kind").get<std::string>();
}

TEST(CandidateBuild, RecordsThenCompiles) {
  CandidateBuild build(a_request(), {.record_deadline = std::chrono::milliseconds(1),
                                     .compile_deadline = std::chrono::milliseconds(2)});
  EXPECT_EQ(kind_of(build), "record");
  EXPECT_EQ(build.next()->deadline, std::chrono::milliseconds(1));
  build.take(recorded_result({fake_kernel(128)}));
  EXPECT_EQ(build.stage(), BuildStage::kCompile);
  EXPECT_EQ(kind_of(build), "compile");
  EXPECT_EQ(build.next()->deadline, std::chrono::milliseconds(2));
  JobResult compiled = compiled_result(build.next()->request.json);
  compiled.seconds = 3;
  build.take(compiled);
  EXPECT_EQ(build.stage(), BuildStage::kDone);
  EXPECT_FALSE(build.next());
  EXPECT_THROW(build.take(compiled), std::logic_error);
  const auto outcome = std::move(build).outcome();
  ASSERT_TRUE(outcome.value) << outcome.fault->text();
  EXPECT_EQ(outcome.value->task.kernels.at(0).compiled->cubin, "machine code");
  EXPECT_EQ(outcome.value->record_seconds, 0.5);
  EXPECT_EQ(outcome.value->compile_seconds, 3);
}

TEST(CandidateBuild, WithoutKernelsThereIsNothingToCompile) {
  KernelCache cache;
  CandidateBuild build(a_request(), {.cache = &cache});
  build.take(recorded_result({}));
  EXPECT_EQ(build.stage(), BuildStage::kDone);
  EXPECT_TRUE(std::move(build).outcome().value);
}

TEST(CandidateBuild, WithACacheItSlicesAndCompilesWhatIsMissing) {
  KernelCache cache;
  const std::vector<Kernel> kernels = {fake_kernel(64), fake_kernel(128)};
  const auto sliced = [&] {
    CandidateBuild build(a_request(), {.cache = &cache});
    build.take(recorded_result(kernels));
    EXPECT_EQ(kind_of(build), "slice");
    build.take(sliced_result(2));
    EXPECT_EQ(build.slices(), (std::vector<std::string>{fake_slice(0), fake_slice(1)}));
    return build;
  };
  {
    CandidateBuild build = sliced();
    EXPECT_EQ(build.next()->request.json.at("kernels").size(), 2u);
    build.take(compiled_result(build.next()->request.json));
    EXPECT_TRUE(std::move(build).outcome().value);
  }
  {
    CandidateBuild build = sliced();  // all are known
    EXPECT_EQ(build.stage(), BuildStage::kDone);
    EXPECT_EQ(std::move(build).outcome().value->task.kernels.at(1).source, fake_slice(1));
  }
  KernelCache other;
  other.put(KernelCache::key(
                [&] {
                  Kernel kernel = kernels[0];
                  kernel.source = fake_slice(0);
                  return kernel;
                }(),
                "sm_90"),
            [&] {
              CandidateBuild build = sliced();
              return std::move(build).outcome().value->task.kernels.at(0);
            }());
  CandidateBuild build(a_request(), {.cache = &other});
  build.take(recorded_result(kernels));
  build.take(sliced_result(2));
  ASSERT_EQ(build.stage(), BuildStage::kCompile);
  const Json request = build.next()->request.json;
  ASSERT_EQ(request.at("kernels").size(), 1u);
  EXPECT_EQ(request.at("kernels")[0], to_json(kernels[1]));
  build.take(compiled_result(request, 0, 1));
  EXPECT_TRUE(std::move(build).outcome().value);
}

TEST(CandidateBuild, AKernelOfAnotherSliceIsNoAnswer) {
  KernelCache cache;
  CandidateBuild build(a_request(), {.cache = &cache});
  build.take(recorded_result({fake_kernel(64)}));
  build.take(sliced_result(1));
  build.take(compiled_result(build.next()->request.json, 0, 7));
  ASSERT_TRUE(build.fault());
  EXPECT_EQ(build.fault()->status, Status::kFailed);
  EXPECT_EQ(build.failed_at(), BuildStage::kCompile);
}

TEST(CandidateBuild, AFaultNamesItsStage) {
  KernelCache cache;
  const JobResult refused = failed_result(Status::kRefused, "no", "raised");
  CandidateBuild record(a_request(), {.cache = &cache});
  record.take(refused);
  EXPECT_EQ(record.failed_at(), BuildStage::kRecord);
  EXPECT_EQ(record.fault()->text(), "candidate.py: no [raised]");
  CandidateBuild slice(a_request(), {.cache = &cache});
  slice.take(recorded_result({fake_kernel(64)}));
  slice.take(refused);
  EXPECT_EQ(slice.failed_at(), BuildStage::kSlice);
  EXPECT_FALSE(slice.next());
  CandidateBuild target(a_request(), {});
  target.take(recorded_result({}, 0, "sm_80"));
  EXPECT_EQ(target.failed_at(), BuildStage::kRecord);
  EXPECT_EQ(target.fault()->status, Status::kFailed);
  const CandidateBuild text(a_request("caf\xE9\n"), {});
  EXPECT_FALSE(text.next());
  EXPECT_EQ(text.fault()->code, "syntax");
}

TEST(CandidateBuild, AJobWhoseWorkerFailsIsRepeatedAsOftenAsThePlanSays) {
  const JobResult fails = failed_result(Status::kFailed, "out of memory");
  CandidateBuild once(a_request(), {});
  once.take(fails);
  EXPECT_EQ(once.stage(), BuildStage::kDone);
  CandidateBuild twice(a_request(), {.attempts = 2});
  twice.take(fails);
  EXPECT_EQ(kind_of(twice), "record");
  twice.take(recorded_result({fake_kernel(64)}));
  twice.take(fails);  // each job has its own attempts
  EXPECT_EQ(kind_of(twice), "compile");
  twice.take(fails);
  EXPECT_EQ(twice.failed_at(), BuildStage::kCompile);
  CandidateBuild refused(a_request(), {.attempts = 2});
  refused.take(failed_result(Status::kRefused, "no", "raised"));
  EXPECT_EQ(refused.stage(), BuildStage::kDone);
}

constexpr int64_t kTooMuch = int64_t{1} << 30;

TEST(CandidateBuild, ConfigurationsThatTheDeviceCannotRunArePassedOver) {
  CandidateBuild build(a_request(), {});
  for (int k = 0; k < 3; ++k) {
    const Json request = build.next()->request.json;
    EXPECT_EQ(request.at("kind"), "record");
    EXPECT_EQ(request.value("configurations", Json()), k == 0 ? Json() : Json({k}));
    build.take(recorded_result({fake_kernel(64)}, 4));
    build.take(compiled_result(build.next()->request.json, k < 2 ? kTooMuch : 0));
  }
  const auto outcome = std::move(build).outcome();
  ASSERT_TRUE(outcome.value) << outcome.fault->text();
  EXPECT_EQ(outcome.value->configurations, std::vector<int>{2});
}

TEST(CandidateBuild, NoConfigurationsAreTriedThatTheRequestDoesNotLeaveOpen) {
  RecordRequest request = a_request();
  request.configurations = {1};
  CandidateBuild build(request, {});
  build.take(recorded_result({fake_kernel(64)}, 4));
  build.take(compiled_result(build.next()->request.json, kTooMuch));
  ASSERT_TRUE(build.fault());
  EXPECT_TRUE(build.fault()->cannot_run());
  CandidateBuild all(a_request(), {});  // none of them runs
  int recordings = 0;
  for (; all.stage() != BuildStage::kDone; ++recordings) {
    all.take(recorded_result({fake_kernel(64)}, 3));
    all.take(compiled_result(all.next()->request.json, kTooMuch));
  }
  EXPECT_EQ(recordings, 3);
  EXPECT_TRUE(all.fault()->cannot_run());
}

JobResult works(const Json& request) {
  return request.at("kind") == "record" ? recorded_result({fake_kernel(64)})
                                        : compiled_result(request);
}

TEST(BuildTasks, DriveManyToTheirEnds) {
  FakeWorkers workers([](const Json& request) {
    if (request.at("source") == "bad") return failed_result(Status::kRefused, "no", "raised");
    return works(request);
  });
  const auto outcomes =
      build_tasks(workers, {a_request(), a_request("bad"), a_request("caf\xE9\n"), a_request()},
                  build_within(std::chrono::milliseconds(1000)));
  ASSERT_EQ(outcomes.size(), 4u);
  EXPECT_TRUE(outcomes[0].value && outcomes[3].value);
  EXPECT_EQ(outcomes[1].fault->code, "raised");
  EXPECT_EQ(outcomes[2].fault->code, "syntax");
  EXPECT_EQ(workers.kinds,
            (std::vector<std::string>{"record", "record", "record", "compile", "compile"}));
}

}  // namespace
}  // namespace kw
