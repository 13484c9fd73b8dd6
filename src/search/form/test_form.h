// What tests of a program's forms share: model files made of a few lines, recorded for real, and
// trials of a form against the original.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "formats/base/error.h"
#include "program/python/export.h"
#include "program/rewrite/transform.h"
#include "search/form/forms.h"
#include "verify/verifier.h"

namespace kw {

class FormTest : public testing::Test {
 protected:
  // Of the statements of a constructor and of forward, and forward's argument.
  static std::string model(const std::string& init, const std::string& forward,
                           const std::string& shape) {
    return "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
           "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n" +
           init + "        self.eval()\n\n    def forward(self, x):\n" + forward +
           "\n\ndef get_inputs():\n    return [torch.randn(" + shape +
           ")]\n\n\ndef get_init_inputs():\n    return []\n";
  }
  void prepare(const std::string& text) {
    text_ = text;
    if (reference_.id >= 0) machine_->executor.unload(reference_.id);
    reference_ = machine_->verifier.prepare(request(text), {});
  }
  RecordAgain record_again() {
    return [this](const Task& form) -> std::optional<Task> {
      RecordRequest again = request(export_python(form, text_));
      again.cls = "ModelNew";
      auto built = build_task(machine_->pool, again, {});
      if (built.fault) return std::nullopt;
      Task out = canonical(built.value->task);
      out.source = reference_.task.source;
      return out;
    };
  }
  // Real trials against the original: as near to an fp64 run as that is, results laid out alike.
  void expect_equal(const Task& task) {
    const int id = machine_->executor.load(task);
    for (Variation variation : {Variation::kPlain, Variation::kAffine}) {
      TrialRequest request;
      request.reference = reference_.id;
      request.candidate = id;
      request.variation = variation;
      const TrialReport report = machine_->executor.trial(request, std::chrono::minutes(1));
      ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message << "\n" << text_;
      EXPECT_EQ(report.difference, "") << text_;
      for (const OutputErrors& errors : report.outputs) {
        EXPECT_EQ(output_fault(errors, Tolerance::kCalibrated), "") << text_;
      }
    }
    machine_->executor.unload(id);
    const Program &a = reference_.task.forward, &b = task.forward;
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      EXPECT_EQ(a.values[a.outputs[i]].strides, b.values[b.outputs[i]].strides);
    }
  }
  RecordRequest request(const std::string& text) const {
    RecordRequest out;
    out.text = text;
    out.file = "model.py";
    out.profile = machine_->profile;
    return out;
  }

  // Worker and executor take seconds to start: once for all tests of a suite.
  struct Machine {
    DeviceProfile profile = device_profile("h200");
    WorkerPool pool{default_worker_config()};
    ExecutorClient executor{default_executor_config("cpu")};
    Verifier verifier{pool, executor, profile};
  };
  static void SetUpTestSuite() { machine_ = std::make_unique<Machine>(); }
  static void TearDownTestSuite() { machine_.reset(); }
  void TearDown() override {
    if (reference_.id >= 0) machine_->executor.unload(reference_.id);
  }

  inline static std::unique_ptr<Machine> machine_;
  Reference reference_;
  std::string text_;
};

}  // namespace kw
