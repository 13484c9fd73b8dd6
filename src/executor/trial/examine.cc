#include "executor/trial/examine.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "executor/aten/aten.h"
#include "executor/aten/seeds.h"
#include "executor/compare/errors.h"
#include "executor/replay/oracle.h"
#include "executor/replay/vary.h"

namespace kw::exec {
namespace {

// Returns the relative RMS of the difference; for integers, the share that is not the same.
double change(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_floating_point()) return distance(a, b);
  return a.numel() == 0 ? 0 : a.ne(b).sum().item<double>() / static_cast<double>(a.numel());
}

class Examination {
 public:
  Examination(const ExamineRequest& request, LoadedTask& task)
      : task_(task),
        drawn_(task.draw(request.seed, {})),
        forward_seed_(derive_seed(request.seed, Purpose::kForward)),
        other_seed_(derive_seed(request.seed, Purpose::kStale)) {}

  ExamineReport run(at::Device device);

 private:
  // Copies the inputs that the program overwrites.
  std::vector<at::Tensor> own(std::vector<at::Tensor> inputs) const {
    const auto& mutated = task_.forward().mutated_inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (mutated[i]) inputs[i] = inputs[i].clone();
    }
    return inputs;
  }
  std::vector<at::Tensor> run(const Draw& draw) {
    std::vector<at::Tensor> inputs = own(draw.all());
    seed_generators(forward_seed_);
    return task_.forward().run(std::move(inputs), ReplayOptions(Unwritten::kZeros));
  }
  void compare_with_oracle(at::Device device, ExamineReport& report);
  void move_all(ExamineReport& report);
  // Draws everything again, and each tensor alone: redrawn_change and `changes`.
  void draw_again(ExamineReport& report);

  LoadedTask& task_;
  const Draw drawn_;
  const uint64_t forward_seed_, other_seed_;
  std::vector<at::Tensor> outputs_;
};

void Examination::compare_with_oracle(at::Device device, ExamineReport& report) {
  std::vector<at::Tensor> wide = widened(drawn_.all());
  seed_generators(forward_seed_);
  // The sources of discrete outputs follow the outputs; they are not examined.
  const auto oracle = task_.oracle().run(std::move(wide), ReplayOptions(Unwritten::kZeros));
  const Program& forward = task_.task().forward;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ExaminedOutput& output = report.outputs.emplace_back();
    output.dtype = dtype_name(real_type(forward.values[forward.outputs[i]].dtype));
    output.elements = outputs_[i].numel();
    if (output.elements == 0) continue;
    if (outputs_[i].is_floating_point()) {
      const ErrorSums sums = error_against(outputs_[i], oracle[i], device);
      output.nonfinite = output.elements - sums.finite_in_both;
      output.rms = sums.oracle_rms;
      output.largest = sums.oracle_max;
      output.error = sums.rms;
    } else {
      output.error = change(outputs_[i], oracle[i]);
    }
  }
}

void Examination::move_all(ExamineReport& report) {
  std::vector<at::Tensor> moved;
  for (const at::Tensor& tensor : drawn_.all()) moved.push_back(tensor.clone());
  move_by_about_a_unit(moved, other_seed_);
  const std::vector<at::Tensor> outputs = run(drawn_.with(moved));
  for (size_t i = 0; i < outputs.size(); ++i) {
    report.outputs[i].neighbour = change(outputs[i], outputs_[i]);
  }
}

void Examination::draw_again(ExamineReport& report) {
  // Constants, which are the same for any seed, become other numbers.
  const Draw other = task_.draw(other_seed_, {.variation = Variation::kAffine});
  const auto changes = [&](const Draw& draw) {
    const std::vector<at::Tensor> outputs = run(draw);
    std::vector<double> changes;
    for (size_t i = 0; i < outputs.size(); ++i) changes.push_back(change(outputs[i], outputs_[i]));
    return changes;
  };
  const std::vector<double> all = changes(other);
  for (size_t i = 0; i < all.size(); ++i) report.outputs[i].redrawn_change = all[i];
  for (size_t i = 0; i < drawn_.state.size(); ++i) {
    Draw one = drawn_;
    one.state[i] = other.state[i];
    one.derived = task_.draw_derived(one.state, ReplayOptions(Unwritten::kZeros));
    report.changes.push_back(changes(one));
  }
  for (size_t i = 0; i < drawn_.inputs.size(); ++i) {
    Draw one = drawn_;
    one.inputs[i] = other.inputs[i];
    report.changes.push_back(changes(one));
  }
}

ExamineReport Examination::run(at::Device device) {
  ExamineReport report;
  report.status = ReplyStatus::kOk;
  outputs_ = run(drawn_);
  compare_with_oracle(device, report);
  move_all(report);
  draw_again(report);
  return report;
}

}  // namespace

ExamineReport examine(const ExamineRequest& request, LoadedTask& task, Backend& backend) {
  c10::InferenceMode inference;
  const auto start = std::chrono::steady_clock::now();
  backend.reset_peak_bytes();
  ExamineReport report = Examination(request, task).run(backend.device());
  report.peak_bytes = backend.peak_bytes();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace kw::exec
