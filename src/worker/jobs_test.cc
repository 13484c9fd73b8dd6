#include "worker/jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "formats/base/error.h"
#include "ops/operator.h"
#include "program/task_json.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;
using Status = JobResult::Status;

constexpr milliseconds kWait{120000};

RecordRequest request_of(const std::string& text) {
  RecordRequest request;
  request.text = text;
  request.file = "model.py";
  request.profile = device_profile("h200");
  return request;
}

// Replies as a worker would send them, made by hand.
Kernel plain_kernel() {
  Kernel kernel;
  kernel.name = "scale";
  kernel.params = {{"x", "*fp32"}, {"BLOCK", "constexpr"}};
  kernel.constexprs = {{"1", 128}};
  return kernel;
}

JobResult ok_reply(Json json, std::vector<std::string> blobs = {}) {
  JobResult result;
  result.status = Status::kOk;
  json["status"] = "ok";
  result.reply = {std::move(json), std::move(blobs)};
  return result;
}

Recorded recorded_with(const Kernel& kernel) {
  Recorded recorded;
  recorded.task.kernels = {kernel};
  recorded.raw_kernels = Json::array({to_json(kernel)});
  return recorded;
}

TEST(RecordJob, SaysAllThatTheWorkerNeeds) {
  RecordRequest request = request_of("x = 1\n");
  request.folder = "/models";
  Json json = record_job(request, kWait).request.json;
  EXPECT_EQ(json["kind"], "record");
  EXPECT_EQ(json["source"], "x = 1\n");
  EXPECT_EQ(json["folder"], "/models");
  EXPECT_EQ(json["profile"]["arch"], "sm_90");
  EXPECT_EQ(json["operators"].size(), operator_table().size() + opaque_operators().size());
  EXPECT_TRUE(json["inputs"].is_null());
  EXPECT_EQ(json["init_inputs"], true);
  request.fragment = true;
  request.inputs = {Value{DType::kFloat16, {2, 3}, {3, 1}, 0, 0}};
  json = record_job(request, kWait).request.json;
  EXPECT_EQ(json["init_inputs"], false);
  EXPECT_EQ(json["inputs"], Json::array({to_json(request.inputs[0])}));
}

TEST(RecordResult, RefusesWhatDoesNotFitTogether) {
  Task task;
  task.kernels = {plain_kernel()};
  const Json raw = Json::array({to_json(plain_kernel())});
  const Json good = {{"task", to_json(task)}, {"kernels", raw}, {"seconds", 0.5}};
  auto outcome = record_result(ok_reply(good), request_of("x = 1\n"));
  ASSERT_TRUE(outcome.value.has_value()) << outcome.fault->text();
  EXPECT_EQ(outcome.value->raw_kernels, raw);
  EXPECT_EQ(outcome.value->seconds, 0.5);

  std::vector<Json> bad(5, good);
  bad[0].erase("task");
  bad[1]["kernels"] = Json::array();
  bad[2]["kernels"][0]["options"] = {{"num_warps", 8}};
  bad[3]["seconds"] = "long";
  bad[4]["task"]["format"] = "another";
  for (const Json& json : bad) {
    outcome = record_result(ok_reply(json), request_of("x = 1\n"));
    EXPECT_FALSE(outcome.value.has_value()) << json;
    ASSERT_TRUE(outcome.fault.has_value());
    EXPECT_EQ(outcome.fault->status, Status::kFailed);
  }
}

TEST(RecordResult, ReadsTuningsWithCare) {
  const auto tuning = [](size_t count) {
    return Json{{"kernel", "scale"}, {"configurations", std::vector<std::string>(count, "a\nb")}};
  };
  Json reply = {{"task", to_json(Task{})}, {"kernels", Json::array()}, {"seconds", 0.5}};
  reply["tunings"] = {tuning(3)};
  auto outcome = record_result(ok_reply(reply), request_of("x = 1\n"));
  ASSERT_TRUE(outcome.value.has_value()) << outcome.fault->text();
  const Tuning wanted{"scale", {"a b", "a b", "a b"}};
  EXPECT_EQ(outcome.value->tunings, std::vector{wanted});
  for (const Json& bad :
       {Json::array({tuning(1)}), Json::array({tuning(5000)}), Json(3),
        Json(std::vector<Json>(300, tuning(2))), Json::array({{{"kernel", 1}}})}) {
    reply["tunings"] = bad;
    outcome = record_result(ok_reply(reply), request_of("x = 1\n"));
    ASSERT_TRUE(outcome.fault.has_value());
    EXPECT_EQ(outcome.fault->status, Status::kFailed);
  }
}

TEST(RecordJob, ChoosesConfigurationsOnlyWhenAsked) {
  RecordRequest request = request_of("x = 1\n");
  EXPECT_FALSE(record_job(request, kWait).request.json.contains("configurations"));
  request.configurations = {2, 0};
  EXPECT_EQ(record_job(request, kWait).request.json["configurations"], Json({2, 0}));
}

TEST(RecordResult, HandsFaultsOn) {
  JobResult refused;
  refused.status = Status::kRefused;
  refused.code = "host-read";
  refused.message = "reads a value";
  refused.file = "m.py";
  refused.line = 7;
  const auto outcome = record_result(refused, request_of("x = 1\n"));
  ASSERT_TRUE(outcome.fault.has_value());
  EXPECT_FALSE(outcome.value.has_value());
  EXPECT_EQ(outcome.fault->text(), "m.py:7: reads a value [host-read]");
}

// The task with the kernels of a compile reply.
JobOutcome<Task> compile_result(const JobResult& result, const Recorded& recorded,
                                const RecordRequest& request) {
  const auto kernels = compiled_kernels(result, recorded, {0}, request);
  if (kernels.fault) return {std::nullopt, kernels.fault};
  Task task = recorded.task;
  task.kernels = *kernels.value;
  return runnable_task(std::move(task), request);
}

TEST(CompileResult, TakesOnlyWhatWasAskedFor) {
  const Recorded recorded = recorded_with(plain_kernel());
  Kernel compiled = plain_kernel();
  compiled.compiled = Compiled{.arch = "sm_90", .symbol = "scale", .writes = {0}};
  const Json good = {
      {"kernels",
       Json::array({{{"kernel", to_json(compiled)}, {"slice", "import triton\n"}, {"cubin", 1}}})}};
  auto outcome =
      compile_result(ok_reply(good, {"other", "machine code"}), recorded, request_of(""));
  ASSERT_TRUE(outcome.value.has_value()) << outcome.fault->text();
  compiled.compiled->shared = 300000;
  Json large = good;
  large["kernels"][0]["kernel"] = to_json(compiled);
  const auto refused =
      compile_result(ok_reply(large, {"other", "machine code"}), recorded, request_of(""));
  ASSERT_TRUE(refused.fault.has_value());
  EXPECT_TRUE(refused.fault->cannot_run()) << refused.fault->text();
  const Kernel& kernel = outcome.value->kernels[0];
  EXPECT_EQ(kernel.source, "import triton\n");
  EXPECT_EQ(kernel.compiled->cubin, "machine code");
  EXPECT_EQ(kernel.compiled->writes, std::vector<int>{0});

  std::vector<Json> bad(8, good);
  bad[0]["kernels"] = Json::array();
  bad[1]["kernels"][0]["cubin"] = 2;
  bad[2]["kernels"][0]["cubin"] = -1;
  bad[3]["kernels"][0]["slice"] = "";
  bad[4]["kernels"][0]["kernel"]["constexprs"]["1"] = 256;
  bad[5]["kernels"][0]["kernel"]["compiled"]["arch"] = "sm_80";
  bad[6]["kernels"][0]["kernel"].erase("compiled");
  bad[7]["kernels"][0]["kernel"]["compiled"]["reads"] = {2};
  for (const Json& json : bad) {
    outcome = compile_result(ok_reply(json, {"other", "machine code"}), recorded, request_of(""));
    EXPECT_FALSE(outcome.value.has_value()) << json;
    EXPECT_TRUE(outcome.fault.has_value());
  }
}

TEST(DeviceProfile, KnowsThreeAndNamesThemOtherwise) {
  for (const char* name : {"h200", "h100", "a100"}) {
    const DeviceProfile profile = device_profile(name);
    EXPECT_EQ(profile.arch.substr(0, 3), "sm_");
    EXPECT_GT(profile.half_flops, profile.tf32_flops);
    EXPECT_GT(profile.tf32_flops, profile.fp32_flops);
    EXPECT_EQ(to_json(profile)["sms"], profile.sms);
  }
  try {
    device_profile("h9000");
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("h200, h100, a100"), std::string::npos);
  }
}

// Texts that are recorded in one child are the tasks that they are alone, also behind one that is
// refused.
TEST(RecordOwnOnProcesses, IsWhatEachIsAlone) {
  WorkerPool pool(default_worker_config());
  std::vector<RecordRequest> requests;
  for (const char* level : {"1", "5"}) {
    std::ifstream file(std::string(KW_SOURCE_DIR "/suites/level") + level + ".jsonl");
    std::string line;
    for (int i = 0; i < 12 && std::getline(file, line); ++i) {
      requests.push_back(request_of(parse_json(line, "suite").at("twin").at("model")));
      requests.back().file = level + std::to_string(i) + ".py";
    }
  }
  requests[5].text += "\nthis is no Python\n";
  requests[6].text += "\ntorch.set_default_dtype(torch.float64)\n";  // the next must not see it
  const auto own = record_own(pool, requests, 9, kWait);
  ASSERT_EQ(own.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(own[i].value.has_value(), i != 5) << (own[i].fault ? own[i].fault->text() : "");
    if (i == 5) {
      EXPECT_EQ(own[i].fault->code, "syntax");
      EXPECT_EQ(own[i].fault->file, requests[5].file);
    } else if (i != 6) {
      const auto alone = record_result(pool.run(record_job(requests[i], kWait)), requests[i]);
      ASSERT_TRUE(alone.value) << alone.fault->text();
      EXPECT_EQ(own[i].value->task, alone.value->task) << requests[i].text;
    }
  }
}

}  // namespace
}  // namespace kw
