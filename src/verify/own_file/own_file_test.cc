// What is said of a candidate's own file, by workers that say what a test wants.
#include "verify/own_file/own_file.h"

#include <gtest/gtest.h>

#include <map>

#include "verify/test_workers.h"

namespace kw {
namespace {

using Status = JobResult::Status;

// relu of one input by PyTorch, with two weights that it does not use.
Task program() {
  Task task;
  task.source = {"model.py", "Model", {}, {"x"}};
  Program& p = task.forward;
  for (int i = 0; i < 2; ++i) p.values.push_back({DType::kFloat32, {8}, {1}, 0, i});
  p.inputs = {0};
  p.steps = {AtenCall{"aten.relu.default", {{"self", {ValueRef{0}}}}, {1}, {}}};
  p.outputs = {1};
  task.inputs.values = {p.values[0]};
  task.inputs.steps = {
      AtenCall{"aten.randn.default", {{"size", {ArgList{{int64_t{8}}}}}}, {0}, {}}};
  task.inputs.outputs = {0};
  task.arguments = Json::array({{{"in", 0}}});
  task.result = {{"out", 0}};
  return task;
}

JobResult ran(int calls, const Json& raised = nullptr) {
  Json list = Json::array();
  for (int i = 0; i < calls; ++i) list.push_back({{"result", {{"literal", "1"}}}});
  return ok_result({{"calls", list}, {"raised", raised}}, {"bytes"});
}

class OwnFile : public testing::Test {
 protected:
  OwnFile() {
    request_.text = "the candidate's text";
    request_.file = "candidate.py";
    request_.cls = "ModelNew";
    request_.harness_text = "class Model: pass\n";
    request_.harness_file = "model.py";
    answers_["candidate.py"] = answers_["optimized.py"] = ran(6);
    answers_["compare"] = ok_result({{"difference", ""}});
  }
  FileReport tried() {
    FakeWorkers workers([this](const Json& request) {
      requests_.push_back(request);
      return answers_.at(request["kind"] == "run" ? request["file"].get<std::string>() : "compare");
    });
    const FileReport out =
        try_file(workers, request_, {{"w", "fc.weight"}}, program_, std::chrono::seconds(7));
    kinds_ = workers.kinds;
    return out;
  }
  void expect(FileDoes does, const std::string& reason) {
    const FileReport report = tried();
    EXPECT_EQ(report.does, does);
    EXPECT_EQ(report.reason, reason);
  }

  RecordRequest request_;
  Task program_ = program();
  std::map<std::string, JobResult> answers_;
  std::vector<Json> requests_;
  std::vector<std::string> kinds_;
};

TEST_F(OwnFile, IsComparedWithTheExportByAThirdJob) {
  expect(FileDoes::kSame, "");
  EXPECT_EQ(kinds_, (std::vector<std::string>{"run", "run", "compare"}));
  EXPECT_EQ(requests_[0]["source"], request_.text);
  EXPECT_EQ(requests_[0]["weights"], Json::parse(R"([["w", "fc.weight"]])"));
  EXPECT_EQ(requests_[0]["harness"]["class"], "Model");
  EXPECT_NE(requests_[1]["source"].get<std::string>().find("class ModelNew(Model)"),
            std::string::npos);
  for (const char* same : {"harness", "seed", "inputs", "folder"}) {
    EXPECT_EQ(requests_[0][same], requests_[1][same]) << same;
  }
  EXPECT_EQ(requests_[2]["blobs_of_ours"], 1);
}

TEST_F(OwnFile, OfAFragmentGetsItsArguments) {
  request_.fragment = true;
  request_.harness_text = "";
  request_.inputs = {program().forward.values[0]};
  expect(FileDoes::kSame, "");
  EXPECT_TRUE(requests_[0]["harness"].is_null());
  EXPECT_EQ(requests_[0]["inputs"].size(), 1u);
  EXPECT_NE(requests_[1]["source"].get<std::string>().find("class Model(torch.nn.Module)"),
            std::string::npos);
}

TEST_F(OwnFile, ThatDoesSomethingElseIsOther) {
  answers_["compare"] = ok_result({{"difference", "call 1: result differs\nlie"}});
  expect(FileDoes::kOther, "call 1: result differs lie");
}

TEST_F(OwnFile, ThatRaisesLaterIsOtherIfItWasEqualBefore) {
  answers_["candidate.py"] = ran(4, "ValueError: no more");
  expect(FileDoes::kOther, "call 5 raises ValueError: no more");
  answers_["compare"] = ok_result({{"difference", "call 2: result differs"}});
  expect(FileDoes::kOther, "call 2: result differs");
}

TEST_F(OwnFile, ThatCannotBeRunIsNotTriedAndNothingElseIsRun) {
  answers_["candidate.py"] = ran(0, "AssertionError: needs a GPU");
  expect(FileDoes::kNotTried, "AssertionError: needs a GPU");
  answers_["candidate.py"] = ran(0);
  expect(FileDoes::kNotTried, "");
  for (const Status status :
       {Status::kTimeout, Status::kKilled, Status::kFlooded, Status::kFailed, Status::kRefused}) {
    answers_["candidate.py"] = failed_result(status, "why", "");
    expect(FileDoes::kNotTried, "candidate.py: why");
    EXPECT_EQ(kinds_.size(), 1u);
  }
}

TEST_F(OwnFile, WhoseWorkerTalksNonsenseIsNotTried) {
  for (const Json& nonsense :
       {Json(), Json({{"calls", 3}, {"raised", nullptr}}), Json({{"calls", Json::array()}}),
        Json({{"calls", Json::array()}, {"raised", 3}})}) {
    answers_["candidate.py"] = ok_result(nonsense.is_null() ? Json::object() : nonsense);
    EXPECT_EQ(tried().does, FileDoes::kNotTried) << nonsense;
    EXPECT_EQ(kinds_.size(), 1u);
  }
  answers_["candidate.py"] = ran(6);
  answers_["compare"] = ok_result({{"difference", nullptr}});
  EXPECT_EQ(tried().does, FileDoes::kNotTried);
  answers_["compare"] = failed_result(Status::kFailed, "ValueError: no such tensor");
  expect(FileDoes::kNotTried, "candidate.py: ValueError: no such tensor");
}

TEST_F(OwnFile, IsNotTriedWhereThereIsNoExport) {
  program_.source.cls = "no name";
  const FileReport report = tried();
  EXPECT_EQ(report.does, FileDoes::kNotTried);
  EXPECT_TRUE(report.reason.starts_with("the program cannot be exported: ")) << report.reason;
}

TEST_F(OwnFile, IsNotTriedWhereTheExportDoesNotRun) {
  for (const int calls : {0, 3}) {
    answers_["optimized.py"] = ran(calls, "no such function");
    expect(FileDoes::kNotTried, "the exported program does not run on a CPU: no such function");
  }
  answers_["optimized.py"] = failed_result(Status::kTimeout, "took longer than 7 s");
  expect(FileDoes::kNotTried,
         "the exported program does not run on a CPU: optimized.py: took longer than 7 s");
}

}  // namespace
}  // namespace kw
