#include "executor/trial/trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "executor/aten/phases.h"
#include "executor/compare/errors.h"
#include "executor/discrete/integers.h"
#include "executor/discrete/quantized_outputs.h"
#include "executor/trial/copies.h"
#include "executor/trial/idle_launches.h"
#include "formats/base/error.h"
#include "program/cost.h"

namespace kw::exec {
namespace {

bool same_shape(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

int64_t launches(const Program& program) {
  return std::count_if(program.steps.begin(), program.steps.end(),
                       [](const Step& step) { return std::holds_alternative<Launch>(step); });
}

// Inputs of more bytes are drawn again instead of being kept.
constexpr int64_t kMostDrawn = int64_t{1} << 30;

// How much the launches of a call may do: many times what the reference does, as usual kernels
// compute addresses, and may compute things again in each program. Small tasks get a few million
// steps of an interpreter.
double most_work(const Program& reference) {
  constexpr double kFactor = 1024, kFloor = 0x1p28;
  const Cost cost = program_cost(reference);
  return kFloor + kFactor * (cost.flops + cost.bytes);
}

// Limits the work of launches while it lives.
class LimitedWork {
 public:
  LimitedWork(Backend& backend, double operations) : backend_(backend) {
    backend_.limit_work(operations);
  }
  LimitedWork(const LimitedWork&) = delete;
  ~LimitedWork() { backend_.limit_work(kAnyWork); }

 private:
  Backend& backend_;
};

// Calls `work` and returns its result. If it throws, `side` is the one at fault.
template <class Work>
auto on_behalf_of(Side side, TrialReport& report, const Work& work) {
  try {
    return work();
  } catch (...) {
    report.fault = side;
    throw;
  }
}

// A call's outputs, and what it left of its inputs. Outputs, and inputs that the program says it
// writes, are overwritten in the end. Other candidates get the same inputs, and their kernels may
// find freed memory.
struct Answer {
  // `not_overwritten` outlives the answer: it receives why overwriting failed.
  Answer(const Backend& backend, LoadedTask& task, std::string& not_overwritten)
      : backend(backend), task(task), not_overwritten(not_overwritten) {}
  Answer(const Answer&) = delete;
  ~Answer() {
    if (backend.isolated()) return;
    const auto& mutated = task.forward().mutated_inputs();
    try {
      for (const at::Tensor& tensor : outputs) poison_storage(tensor);
      for (size_t i = 0; i < inputs_after.size(); ++i) {
        if (mutated[i]) poison_storage(inputs_after[i]);
      }
    } catch (const std::exception& error) {
      not_overwritten = error.what();
    }
  }
  const Backend& backend;
  LoadedTask& task;
  std::string& not_overwritten;
  std::vector<at::Tensor> outputs, inputs_after;
};

// The trial under way: what both halves share.
class OneTrial {
 public:
  OneTrial(Backend& backend, ReferenceCache& cache, const TrialRequest& request,
           LoadedTask& reference, LoadedTask& candidate, TrialReport& report,
           std::string& not_overwritten)
      : backend_(backend),
        cache_(cache),
        request_(request),
        reference_(reference),
        candidate_(candidate),
        report_(report),
        phases_(backend, report.phases),
        not_overwritten_(not_overwritten),
        own_answer_(backend, candidate, not_overwritten) {}

  void run() {
    const ReferenceKey key = request_.reference_key();
    const CachedReference cached = cache_.find(key);
    std::shared_ptr<const Draw> draw = cached.draw ? cached.draw : new_draw();
    phases_.end("draw");
    on_behalf_of(Side::kCandidate, report_, [&] { run_candidate(*draw); });
    if (!backend_.isolated()) draw.reset();
    if (!draw && !cached.drawn) draw = new_draw();
    phases_.end("draw");
    if (cached.side) {
      compare_with(std::move(draw), cached);
      return;
    }
    const ReferenceSide side = run_reference_on(*draw);
    on_behalf_of(Side::kCandidate, report_, [&] {
      compare(*draw, side);
      keep(key, draw, side);
    });
  }

 private:
  std::shared_ptr<const Draw> new_draw();
  ReferenceSide run_reference_on(const Draw& draw);
  void compare(const Draw& draw, const ReferenceSide& side);
  void compare_with(std::shared_ptr<const Draw> draw, const CachedReference& cached);
  // Stores `side`, and `draw` if it is small enough, for later trials. Nothing may use `side` after
  // that.
  void keep(const ReferenceKey& key, std::shared_ptr<const Draw> draw, const ReferenceSide& side);

  void run_candidate(const Draw& draw);
  std::vector<at::Tensor> call(const Draw& draw, Guards& guards, const Ablation& ablation,
                               std::vector<at::Tensor>* inputs_after = nullptr,
                               std::vector<at::Tensor>* derived_before = nullptr,
                               LaunchWatch* watch = nullptr);
  void skip_launches(const Draw& draw);
  std::vector<at::Tensor> inputs_for(const Lineage* part, const Draw& draw) const;
  std::vector<at::Tensor> what_user_has(const Answer& answer, const Draw& draw) const;

  void compare_outputs(const ReferenceSide& side);
  static void add_errors(const at::Tensor& answer, const OutputSide& output, OutputErrors& errors);
  void compare_discrete(const ReferenceSide& side);
  void compare_inputs(const Draw& draw, const ReferenceSide& side);
  void compare_derived(const Draw& draw);
  void compare_state_after(const Draw& draw, const ReferenceSide& side);
  void note(bool& flag, const std::string& difference) {
    flag = false;
    if (report_.difference.empty()) report_.difference = difference;
  }

  Backend& backend_;
  ReferenceCache& cache_;
  const TrialRequest& request_;
  LoadedTask& reference_;
  LoadedTask& candidate_;
  TrialReport& report_;
  const Varied varied_ = std::get<Varied>(request_.reference_key());
  Phases phases_;
  std::vector<at::Tensor> derived_;  // the candidate's, as the judged call found them
  std::string& not_overwritten_;     // why some answer is still in memory
  // The candidate's. Its `inputs_after` are state, derived tensors and inputs.
  Answer own_answer_;
};

std::shared_ptr<const Draw> OneTrial::new_draw() {
  return on_behalf_of(Side::kReference, report_, [&] {
    return std::make_shared<const Draw>(reference_.draw(request_.seed, varied_));
  });
}

ReferenceSide OneTrial::run_reference_on(const Draw& draw) {
  return on_behalf_of(Side::kReference, report_, [&] {
    const auto& mutated = reference_.forward().mutated_inputs();
    Guards copies = Guards::overwriting(backend_.device());
    const bool overwrites = std::ranges::find(mutated, true) != mutated.end();
    const Draw own = overwrites ? draw.with(copies.copy(draw.all())) : draw;
    ReferenceSide side =
        run_reference(reference_, own, request_.seed, varied_, backend_.device(), &phases_);
    backend_.synchronize();
    return side;
  });
}

void OneTrial::compare(const Draw& draw, const ReferenceSide& side) {
  compare_outputs(side);
  compare_inputs(draw, side);
  report_.passes_zeros = side.passes_zeros;
  report_.passes_stale = side.passes_stale;
  phases_.end("compare");
}

void OneTrial::compare_with(std::shared_ptr<const Draw> draw, const CachedReference& cached) {
  try {
    ReferenceSide side;
    on_behalf_of(Side::kReference, report_, [&] {
      const std::vector<at::Tensor> opened = cached.tensors->open();
      side = cached.side->with(opened);
      if (!draw) {
        const std::span drawn = std::span(opened).subspan(side.tensors().size());
        draw = std::make_shared<Draw>(cached.drawn->with(drawn));
      }
      phases_.end("keep");
    });
    on_behalf_of(Side::kCandidate, report_, [&] { compare(*draw, side); });
  } catch (...) {
    cached.tensors->close();
    throw;
  }
  on_behalf_of(Side::kCandidate, report_, [&] {
    cached.tensors->close();
    phases_.end("keep");
  });
}

void OneTrial::keep(const ReferenceKey& key, std::shared_ptr<const Draw> draw,
                    const ReferenceSide& side) {
  const auto hollow = [](const auto& whole, size_t count) {
    return std::make_shared<std::decay_t<decltype(whole)>>(
        whole.with(std::vector<at::Tensor>(count)));
  };
  std::vector<at::Tensor> tensors = side.tensors();
  CachedReference entry;
  entry.side = hollow(side, tensors.size());
  const std::vector<at::Tensor> drawn = draw->all();
  if (!backend_.isolated() && total_bytes(drawn) <= kMostDrawn) {
    tensors.insert(tensors.end(), drawn.begin(), drawn.end());
    entry.drawn = hollow(*draw, drawn.size());
  }
  entry.bytes = total_bytes(tensors);
  if (backend_.isolated()) {
    entry.draw = std::move(draw);
    entry.bytes += total_bytes(drawn);
  }
  if (cache_.make_room(request_.reference, entry.bytes))
    entry.tensors = backend_.store_off_device(tensors);
  if (entry.tensors) cache_.put(key, std::move(entry));
  if (!backend_.isolated()) side.scrub();
  phases_.end("keep");
}

// Runs the candidate's forward on guarded copies of the drawn state and inputs. Sets `inputs_after`
// to all inputs as the call leaves them, and `derived_before` to the derived tensors that it finds.
std::vector<at::Tensor> OneTrial::call(const Draw& draw, Guards& guards, const Ablation& ablation,
                                       std::vector<at::Tensor>* inputs_after,
                                       std::vector<at::Tensor>* derived_before,
                                       LaunchWatch* watch) {
  // Steps are numbered by program, so a single launch and a part concern forward alone.
  const Ablation of_derive{.all_launches = ablation.all_launches, .unwritten = ablation.unwritten};
  std::vector<at::Tensor> all = guards.copy(draw.state);
  const auto derived =
      candidate_.draw_derived(all, ReplayOptions::candidate(guards, request_.unwritten, of_derive));
  const std::vector<at::Tensor> inputs = guards.copy(inputs_for(ablation.part, draw));
  all.insert(all.end(), derived.begin(), derived.end());
  all.insert(all.end(), inputs.begin(), inputs.end());
  seed_generators(derive_seed(request_.seed, Purpose::kForward));
  backend_.seed_launches(request_.seed);
  const LimitedWork limited(backend_, most_work(reference_.task().forward));
  if (inputs_after) *inputs_after = all;
  if (derived_before) *derived_before = guards.copy(derived);
  return candidate_.forward().run(
      std::move(all), ReplayOptions::candidate(guards, request_.unwritten, ablation, watch));
}

void OneTrial::run_candidate(const Draw& draw) {
  {
    Guards guards(backend_.device(),
                  request_.unwritten == Unwritten::kPoison ? kPoison : kUsedMemory);
    CopyWatch copies(candidate_.task());
    own_answer_.outputs = call(draw, guards, {}, &own_answer_.inputs_after, &derived_, &copies);
    report_.copies = copies.found();
    const bool launches_intact = candidate_.forward().guards_intact();
    backend_.synchronize();
    if (!guards.intact() || !launches_intact) {
      note(report_.guards_intact, "bytes around a buffer were overwritten");
    }
  }
  phases_.end("candidate");
  if (!request_.check_noop && !request_.each_launch) return;
  skip_launches(draw);
  phases_.end("noop");
}

void OneTrial::skip_launches(const Draw& draw) {
  const auto has = [&](const Answer& answer) { return what_user_has(answer, draw); };
  const auto again = [&](const Ablation& ablation, const auto& use) {
    Guards guards(backend_.device());
    Answer answer(backend_, candidate_, not_overwritten_);
    answer.outputs = call(draw, guards, ablation, &answer.inputs_after);
    use(has(answer));
  };
  IdleLaunches idle(backend_, candidate_.task(), again, has(own_answer_));
  if (request_.check_noop && idle.are_all()) {
    note(report_.no_launch_changes, "without any launch the outputs are the same");
  }
  if (!request_.each_launch) return;
  const std::vector<int>& steps = candidate_.forward().launch_steps();
  if (!report_.no_launch_changes) {
    report_.idle_launches = steps;
    return;
  }
  // Leaving out the only launch is the same as leaving out all launches.
  const bool is_only = steps.size() == 1 && launches(candidate_.task().derive) == 0;
  if (!request_.check_noop || !is_only) report_.idle_launches = idle.among(steps);
}

// Returns the drawn inputs. If a part of the program runs, inputs that it does not use are
// undefined.
std::vector<at::Tensor> OneTrial::inputs_for(const Lineage* part, const Draw& draw) const {
  std::vector<at::Tensor> out = draw.inputs;
  const Program& program = candidate_.task().forward;
  const size_t others = program.inputs.size() - out.size();
  for (size_t i = 0; i < out.size() && part; ++i) {
    const int storage = program.values[program.inputs[others + i]].storage;
    if (!part->storages[storage]) out[i].reset();
  }
  return out;
}

// Returns what a user gets from a call: its outputs, and what it changed of the state and inputs.
std::vector<at::Tensor> OneTrial::what_user_has(const Answer& answer, const Draw& draw) const {
  std::vector<at::Tensor> outputs = answer.outputs;
  const std::vector<at::Tensor>& after = answer.inputs_after;
  const auto& mutated = candidate_.forward().mutated_inputs();
  for (size_t i = 0; i < after.size(); ++i) {
    const bool derived = i >= draw.state.size() && i < after.size() - draw.inputs.size();
    if (mutated[i] && !derived) outputs.push_back(after[i]);
  }
  return outputs;
}

void OneTrial::compare_outputs(const ReferenceSide& side) {
  const Program &ours = candidate_.task().forward, &theirs = reference_.task().forward;
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    const OutputSide& output = side.outputs[i];
    OutputErrors& errors = report_.outputs.emplace_back(output.errors);
    if (ours.outputs.size() != theirs.outputs.size() ||
        candidate_.task().result != reference_.task().result) {
      errors.meta_difference = "returns " + candidate_.task().result.dump() + ", expected " +
                               reference_.task().result.dump();
    } else {
      errors.meta_difference =
          meta_difference(ours.values[ours.outputs[i]], theirs.values[theirs.outputs[i]]);
    }
    if (!errors.meta_difference.empty()) {
      note(errors.same_meta, "output " + std::to_string(i) + ": " + errors.meta_difference);
    }
    if (i < own_answer_.outputs.size() && same_shape(own_answer_.outputs[i], output.reference)) {
      add_errors(own_answer_.outputs[i], output, errors);
    }
  }
  compare_discrete(side);
}

// Adds the errors of the candidate's answer.
void OneTrial::add_errors(const at::Tensor& answer, const OutputSide& output,
                          OutputErrors& errors) {
  const at::Tensor& ties_flipped = output.ties_flipped;
  candidate_errors(answer, output.reference, output.oracle, errors);
  if (errors.integers > 0) errors.integers_wrong = integer_answers(answer, output.oracle).wrong;
  if (errors.section_excess > 1 && (output.as_kernels.defined() || ties_flipped.defined())) {
    section_errors(answer, output.furthest_off(), ties_flipped, output.oracle, errors);
  }
  if (output.gap > 0 && !ties_flipped.defined()) {
    small_errors(answer, output.furthest_off(), output.oracle, output.gap, errors);
  }
  if (errors.int_mismatch > 0 && ties_flipped.defined()) {
    errors.int_mismatch = wrong_integers(answer, output.reference, ties_flipped);
  }
}

// Does not count elements of discrete outputs that are near ties as wrong.
void OneTrial::compare_discrete(const ReferenceSide& side) {
  const std::vector<DiscreteOutput>& discrete_outputs = reference_.discrete_outputs();
  for (size_t i = 0; i < discrete_outputs.size(); ++i) {
    const size_t position = discrete_outputs[i].position;
    OutputErrors& errors = report_.outputs[position];
    if (errors.int_mismatch == 0) continue;
    const OutputSide& output = side.outputs[position];
    errors.int_mismatch =
        wrong_elements(discrete_outputs[i], side.rules[i], own_answer_.outputs[position],
                       output.reference, output.oracle);
  }
}

void OneTrial::compare_inputs(const Draw& draw, const ReferenceSide& side) {
  compare_state_after(draw, side);
  compare_derived(draw);
  const size_t inputs = own_answer_.inputs_after.size() - draw.inputs.size();
  for (size_t i = 0; i < draw.inputs.size(); ++i) {
    const at::Tensor& got = own_answer_.inputs_after[inputs + i];
    const auto& [expected, exact] = side.inputs[draw.state.size() + draw.derived.size() + i];
    const std::string input = "input " + std::to_string(i);
    if (!expected.defined() && !bit_equal(got, draw.inputs[i])) {
      note(report_.inputs_unchanged, input + " was overwritten");
    } else if (expected.defined() && !updated_alike(got, expected, draw.inputs[i], exact)) {
      note(report_.inputs_unchanged,
           bit_equal(got, draw.inputs[i])
               ? input + ", which the reference updates, was left as it was"
               : input + " is updated otherwise than by the reference");
    }
  }
}

// Checks that derived tensors stay as they were. Later calls use them again.
void OneTrial::compare_derived(const Draw& draw) {
  for (size_t i = 0; i < derived_.size(); ++i) {
    if (!bit_equal(own_answer_.inputs_after[draw.state.size() + i], derived_[i])) {
      note(report_.inputs_unchanged, "a launch writes to a derived tensor and hides it");
    }
  }
}

// Checks that parameters stay as they were, and that buffers that the reference updates are updated
// alike.
void OneTrial::compare_state_after(const Draw& draw, const ReferenceSide& side) {
  const auto& entries = reference_.task().state;
  for (size_t i = 0; i < entries.size(); ++i) {
    const at::Tensor& got = own_answer_.inputs_after[i];
    const std::string name =
        entries[i].names.empty() ? "state " + std::to_string(i) : entries[i].names.front();
    if (const auto& [expected, exact] = side.inputs[i]; expected.defined()) {
      if (!updated_alike(got, expected, draw.state[i], exact)) {
        note(report_.buffers_equal, "buffer " + name + " is updated otherwise");
      }
    } else if (!bit_equal(got, draw.state[i])) {
      note(report_.inputs_unchanged, name + " was overwritten");
    }
  }
}

// Throws InputError unless the candidate has the reference's state and writes no derived tensor, as
// adopt() leaves it.
void check_adopted(const LoadedTask& reference, LoadedTask& candidate) {
  const Task &theirs = reference.task(), &ours = candidate.task();
  bool same = theirs.state.size() == ours.state.size();
  for (size_t i = 0; same && i < ours.state.size(); ++i) {
    const Value &a = theirs.forward.values[theirs.forward.inputs[i]],
                &b = ours.forward.values[ours.forward.inputs[i]];
    same = a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
  }
  if (!same) throw InputError("has other state than the reference");
  const auto& mutated = candidate.forward().mutated_inputs();
  for (size_t i = 0; i < ours.derive.outputs.size(); ++i) {
    if (mutated[ours.state.size() + i]) throw InputError("writes to a derived tensor");
  }
}

}  // namespace

TrialReport Trials::run(const TrialRequest& request, LoadedTask& reference, LoadedTask& candidate) {
  TrialReport report = attempt(request, reference, candidate);
  // What is kept of other trials may use the memory.
  if (report.cause != Cause::kOutOfMemory || cache_.bytes() == 0) return report;
  cache_.clear();
  return attempt(request, reference, candidate);
}

TrialReport Trials::attempt(const TrialRequest& request, LoadedTask& reference,
                            LoadedTask& candidate) {
  c10::InferenceMode inference;
  const auto start = std::chrono::steady_clock::now();
  TrialReport report;
  report.status = ReplyStatus::kOk;
  std::string not_overwritten;
  const auto end = [&](ReplyStatus status, const std::string& why) {
    report.status = status;
    report.message = std::string(side_name(report.fault)) + ": " + why;
  };
  backend_.reset_peak_bytes();
  backend_.open_guards(!request.guards);
  try {
    on_behalf_of(Side::kCandidate, report, [&] { check_adopted(reference, candidate); });
    OneTrial(backend_, cache_, request, reference, candidate, report, not_overwritten).run();
  } catch (const NotJudged& error) {
    backend_.check_alive();
    end(ReplyStatus::kNotJudged, error.what());
    if (lacks_memory(error)) report.cause = Cause::kOutOfMemory;
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& error) {
    backend_.check_alive();
    if (lacks_memory(error)) {
      end(ReplyStatus::kNotJudged, "out of memory");
      report.cause = Cause::kOutOfMemory;
    } else {
      end(ReplyStatus::kFailed, error.what());
    }
  }
  if (!not_overwritten.empty()) {  // another candidate could find the answer
    backend_.check_alive();
    report.fault = Side::kCandidate;
    end(ReplyStatus::kNotJudged, "an answer could not be overwritten: " + not_overwritten);
  }
  report.peak_bytes = backend_.peak_bytes();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace kw::exec
