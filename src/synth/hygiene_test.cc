// Which flaw a report tells of; and that what is drawn at an index depends on no examination.
#include "synth/hygiene.h"

#include <gtest/gtest.h>

#include <limits>

#include "synth/task_source.h"

namespace kw {
namespace {

// One parameter "w0" and one input of this dtype.
Task task_of(DType dtype) {
  Task task;
  task.state = {{{"w0"}, "parameter"}};
  task.forward.values = {{.dtype = dtype}, {.dtype = dtype}, {.dtype = dtype}};
  task.forward.inputs = {0, 1};
  task.forward.outputs = {2};
  task.inputs.values = {{.dtype = dtype}};
  task.inputs.outputs = {0};
  return task;
}

ExamineReport clean() {
  ExamineReport report;
  report.status = ReplyStatus::kOk;
  report.outputs = {{.dtype = "float32",
                     .elements = 100,
                     .rms = 1,
                     .largest = 3,
                     .redrawn_change = 1.4,
                     .error = 1e-7,
                     .neighbour = 1e-6}};
  report.changes = {{1}, {0.5}};
  return report;
}

TEST(Hygiene, ACleanTask) {
  const Hygiene found = judge_hygiene(clean(), task_of(DType::kFloat32));
  EXPECT_EQ(found.flaw, Flaw::kNone);
  EXPECT_EQ(found.reason, "");
}

TEST(Hygiene, EachFlawIsNamed) {
  const auto flaw = [](const auto& spoil, DType dtype = DType::kFloat32) {
    ExamineReport report = clean();
    spoil(report);
    return judge_hygiene(report, task_of(dtype));
  };
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(flaw([](auto& r) { r.status = ReplyStatus::kFailed; }).flaw, Flaw::kDoesNotRun);
  EXPECT_EQ(flaw([](auto& r) { r.outputs[0].nonfinite = 1; }).flaw, Flaw::kNotFinite);
  EXPECT_EQ(flaw([](auto& r) { r.outputs[0].redrawn_change = 0.015; }).flaw, Flaw::kConstant);
  EXPECT_EQ(flaw([](auto& r) { r.outputs[0].error = 2e-3; }).flaw, Flaw::kUnstable);
  EXPECT_EQ(flaw([](auto& r) { r.outputs[0].neighbour = 2e-3; }).flaw, Flaw::kUnstable);
  EXPECT_EQ(flaw([&](auto& r) { r.outputs[0].neighbour = nan; }).flaw, Flaw::kUnstable);
  const Hygiene ignored = flaw([](auto& r) { r.changes[0][0] = 0.01; });
  EXPECT_EQ(ignored.flaw, Flaw::kIgnored);
  EXPECT_NE(ignored.reason.find("w0"), std::string::npos) << ignored.reason;
  EXPECT_NE(flaw([](auto& r) { r.changes[1][0] = 0; }).reason.find("input 0"), std::string::npos);
  // bf16 has 8 digits, and may lose 4 of them; TF32 errs by 4e-4.
  EXPECT_EQ(flaw([](auto& r) { r.outputs[0].error = 0.05; }, DType::kBFloat16).flaw, Flaw::kNone);
  EXPECT_EQ(flaw([](auto& r) { r.outputs[0].error = 0.1; }, DType::kBFloat16).flaw,
            Flaw::kUnstable);
  EXPECT_EQ(flaw([](auto& r) { r.outputs[0].error = 4e-4; }).flaw, Flaw::kNone);
}

// It is enough that a tensor matters to one of the results.
TEST(Hygiene, AnInputOfOneResult) {
  ExamineReport report = clean();
  report.outputs.push_back(report.outputs[0]);
  report.changes = {{0, 1}, {1, 0}};
  EXPECT_EQ(judge_hygiene(report, task_of(DType::kFloat32)).flaw, Flaw::kNone);
  report.changes = {{0, 0}, {1, 0}};
  EXPECT_EQ(judge_hygiene(report, task_of(DType::kFloat32)).flaw, Flaw::kIgnored);
}

TEST(Twins, AreTheSameSkeletonInTheirWindow) {
  const Synthesiser synthesiser{SynthOptions()};
  SynthCounts counts;
  const HygieneOptions hygiene{0x1p16, 0x1p20, false};
  for (uint64_t index = 0; index < 50; ++index) {
    const SynthTask task = redraw(synthesiser, hygiene, index, 0, counts);
    if (!task.twin) continue;
    EXPECT_EQ(structure_hash(task.twin->skeleton), structure_hash(task.program.skeleton));
    EXPECT_LE(task.twin->flops, 0x1p20);
    EXPECT_LE(task.twin->low_flops, 0x1p16);
    for (const auto& shape : task.twin->shapes) {
      double elements = 1;
      for (int64_t size : shape) elements *= static_cast<double>(size);
      EXPECT_LE(elements, 0x1p20);
    }
    // Programs are those that are drawn without twins.
    Random random = synthesiser.random(index);
    EXPECT_EQ(synthesiser.draw(index, 0, random, counts).shapes, task.program.shapes);
    const SynthTask next = redraw(synthesiser, hygiene, index, 1, counts);
    EXPECT_EQ(synthesiser.draw(index, 0, random, counts).shapes, next.program.shapes);
  }
}

}  // namespace
}  // namespace kw
