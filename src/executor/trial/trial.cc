#include "executor/trial/trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "executor/aten/phases.h"
#include "executor/compare/errors.h"
#include "executor/discrete/integers.h"
#include "executor/discrete/quantized_outputs.h"
#include "executor/trial/idle_launches.h"
#include "executor/trial/persistent_state.h"
#include "formats/base/error.h"

namespace kw {
namespace {

using TensorsByName = std::map<std::string, at::Tensor>;

TensorsByName by_name(const Task& task, const std::vector<at::Tensor>& state) {
  TensorsByName out;
  for (size_t i = 0; i < task.state.size(); ++i) {
    for (const std::string& name : task.state[i].names) out.emplace(name, state[i]);
  }
  return out;
}

bool same_shape(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

int64_t launches(const Program& program) {
  return std::count_if(program.steps.begin(), program.steps.end(),
                       [](const Step& step) { return std::holds_alternative<Launch>(step); });
}

// Bytes of inputs beyond which it is better to draw them again than to keep them.
constexpr int64_t kMostDrawn = int64_t{1} << 30;

// Each in turn: a kernel may wait for a number to grow, to shrink, or to be one number. Where
// launches are left out, numbers that spread no further than those that they write.
Scramble scramble_of(const TrialRequest& request) {
  if (request.check_noop || request.each_launch) return Scramble::kSmall;
  return static_cast<Scramble>(request.seed % 4);
}

// A call's outputs, and what it left of its inputs. Outputs, and inputs that it says it writes, are
// overwritten in the end: other candidates are given the same inputs, and their kernels may find
// what was freed.
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
    report_.fault = Side::kReference;
    const ReferenceKey key = request_.reference_key();
    const CachedReference cached = cache_.find(key);
    std::shared_ptr<const Draw> draw = cached.draw ? cached.draw : new_draw();
    phases_.end("draw");
    report_.fault = Side::kCandidate;
    run_candidate(*draw);
    report_.fault = Side::kReference;
    if (!backend_.isolated()) draw.reset();
    if (cached.side) {
      compare_with(std::move(draw), cached);
    } else {
      if (!draw) draw = new_draw();
      phases_.end("draw");
      const ReferenceSide side = run_reference_on(*draw);
      compare(*draw, side);
      phases_.end("compare");
      keep(key, draw, side);
      phases_.end("keep");
    }
    report_.fault = Side::kNone;
  }

 private:
  std::shared_ptr<const Draw> new_draw();
  ReferenceSide run_reference_on(const Draw& draw);
  void compare(const Draw& draw, const ReferenceSide& side);
  void compare_with(std::shared_ptr<const Draw> draw, const CachedReference& cached);
  void keep(const ReferenceKey& key, std::shared_ptr<const Draw> draw, const ReferenceSide& side);

  void run_candidate(const Draw& draw);
  void check_state(const Draw& draw);
  void use_state(const Draw& draw);
  void use_once(const Draw& draw, int index, bool keeps, Leftovers& leftovers);
  std::vector<at::Tensor> call(const Draw& draw, Guards& guards, ReplayOptions options,
                               std::vector<at::Tensor>* inputs_after = nullptr,
                               std::vector<at::Tensor>* inputs_before = nullptr);
  void skip_launches(const Draw& draw);
  std::vector<at::Tensor> inputs_for(const ReplayOptions& options, const Draw& draw) const;
  std::vector<at::Tensor> what_user_has(const Answer& answer, size_t inputs) const;

  void compare_outputs(const ReferenceSide& side);
  void compare_choices(const ReferenceSide& side);
  void compare_inputs(const Draw& draw, const ReferenceSide& side);
  void compare_derived(size_t end);
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
  std::vector<at::Tensor> state_;                   // the candidate's, as constructed
  std::vector<size_t> own_;                         // of its entries, those that it has alone
  std::optional<std::vector<at::Tensor>> derived_;  // left by an earlier call; else made anew
  std::string& not_overwritten_;                    // why some answer is still in memory
  Answer own_answer_;                               // the candidate's; in its `inputs_after`
                                                    // are state, derived tensors and inputs
};

std::shared_ptr<const Draw> OneTrial::new_draw() {
  return std::make_shared<Draw>(reference_.draw(request_.seed, varied_));
}

ReferenceSide OneTrial::run_reference_on(const Draw& draw) {
  const auto& mutated = reference_.forward().mutated_inputs();
  Draw own = draw;
  Guards copies = Guards::overwriting(backend_.device());
  if (std::find(mutated.begin(), mutated.end(), true) != mutated.end()) {
    const std::vector<at::Tensor> all = copies.copy(draw.all());
    const auto derived = all.begin() + draw.state.size();
    const auto inputs = derived + draw.derived.size();
    own = {{all.begin(), derived}, {derived, inputs}, {inputs, all.end()}, {}};
  }
  ReferenceSide side =
      run_reference(reference_, own, request_.seed, varied_, backend_.device(), &phases_);
  backend_.synchronize();
  return side;
}

void OneTrial::compare(const Draw& draw, const ReferenceSide& side) {
  report_.fault = Side::kCandidate;
  compare_outputs(side);
  compare_inputs(draw, side);
  report_.passes_zeros = side.passes_zeros;
  report_.passes_stale = side.passes_stale;
}

void OneTrial::compare_with(std::shared_ptr<const Draw> draw, const CachedReference& cached) {
  if (!draw && !cached.drawn) draw = new_draw();
  phases_.end("draw");
  try {
    const std::vector<at::Tensor> opened = cached.tensors->open();
    const ReferenceSide side = cached.side->with(opened);
    if (!draw) {
      const std::span behind = std::span(opened).subspan(side.tensors().size());
      draw = std::make_shared<Draw>(cached.drawn->with(behind));
    }
    phases_.end("keep");
    compare(*draw, side);
    phases_.end("compare");
  } catch (...) {
    cached.tensors->close();
    throw;
  }
  cached.tensors->close();
  phases_.end("keep");
}

// After the last use of `side`.
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
  if (cache_.make_room(request_.reference, entry.bytes)) entry.tensors = backend_.stow(tensors);
  if (entry.tensors) cache_.put(key, std::move(entry));
  if (!backend_.isolated()) side.scrub();
}

// Buffers that earlier calls changed, the candidate takes from the reference.
void OneTrial::check_state(const Draw& draw) {
  const TensorsByName expected = by_name(reference_.task(), draw.state);
  const TensorsByName got = by_name(candidate_.task(), state_);
  for (size_t i = 0; i < state_.size(); ++i) {
    const auto& names = candidate_.task().state[i].names;
    const bool shared = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return expected.contains(name);
    });
    if (!shared) own_.push_back(i);
  }
  const auto& mutated = reference_.forward().mutated_inputs();
  const bool used = request_.variation == Variation::kUsed;
  std::set<std::string> changed;  // by earlier calls
  for (size_t i = 0; i < draw.state.size() && used; ++i) {
    const auto& names = reference_.task().state[i].names;
    if (mutated[i]) changed.insert(names.begin(), names.end());
  }
  for (const auto& [name, tensor] : expected) {
    const auto found = got.find(name);
    if (found == got.end()) {
      note(report_.state_equal, "the candidate has no " + name);
    } else if (!same_shape(found->second, tensor)) {
      note(report_.state_equal, name + " has another shape or dtype");
    } else if (changed.contains(name)) {
      at::Tensor(found->second).copy_(tensor);
    } else if (!bit_equal(found->second, tensor)) {
      note(report_.state_equal, name + " is initialised otherwise");
    }
  }
}

// The candidate's forward on guarded copies of its state and of the drawn inputs. `inputs_before`:
// what it found there of state and derived.
std::vector<at::Tensor> OneTrial::call(const Draw& draw, Guards& guards, ReplayOptions options,
                                       std::vector<at::Tensor>* inputs_after,
                                       std::vector<at::Tensor>* inputs_before) {
  options.fill = request_.used_memory ? EmptyFill::kNumbers : EmptyFill::kPoison;
  options.guards = &guards;
  options.overwrites = true;
  std::vector<at::Tensor> all = guards.copy(state_);
  ReplayOptions derive_options = options;
  derive_options.skip_launch.reset();
  derive_options.part = nullptr;
  const auto derived =
      derived_ ? guards.copy(*derived_) : candidate_.draw_derived(all, derive_options);
  if (inputs_before) {
    *inputs_before = state_;
    const auto copies = guards.copy(derived);
    inputs_before->insert(inputs_before->end(), copies.begin(), copies.end());
  }
  const std::vector<at::Tensor> inputs = guards.copy(inputs_for(options, draw));
  all.insert(all.end(), derived.begin(), derived.end());
  all.insert(all.end(), inputs.begin(), inputs.end());
  seed_generators(derive_seed(request_.seed, Purpose::kForward));
  if (inputs_after) *inputs_after = all;
  return candidate_.forward().run(std::move(all), options);
}

void OneTrial::run_candidate(const Draw& draw) {
  state_ = candidate_.draw_state(request_.seed);
  candidate_.apply_affine(draw.affine, state_);
  check_state(draw);
  if (request_.second_call) use_state(draw);
  {
    Guards guards(backend_.device(), request_.used_memory ? kUsedMemory : kPoison);
    own_answer_.outputs = call(draw, guards, {}, &own_answer_.inputs_after);
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

// Calls on other inputs leave their marks on tensors that only the candidate has, state and derived
// (scratch memory, counters, results that it hopes to give again). The call that is judged finds
// there what may be there in use: after so many calls that it could be anything.
void OneTrial::use_state(const Draw& draw) {
  const auto& mutated = candidate_.forward().mutated_inputs();
  const bool writes = std::any_of(own_.begin(), own_.end(), [&](size_t i) { return mutated[i]; });
  const auto derived = mutated.begin() + static_cast<long>(state_.size());
  const auto inputs = mutated.end() - static_cast<long>(draw.inputs.size());
  const bool keeps = std::find(derived, inputs, true) != inputs;
  if (!writes && !keeps) return;
  Leftovers leftovers(scramble_of(request_));
  for (int i = 0; i < kEarlierCalls; ++i) use_once(draw, i, keeps, leftovers);
}

void OneTrial::use_once(const Draw& draw, int index, bool keeps, Leftovers& leftovers) {
  const uint64_t seed = derive_seed(request_.seed + static_cast<uint64_t>(index), Purpose::kStale);
  Draw other = draw;
  other.inputs = reference_.draw_inputs(draw.state, seed);
  Guards guards(backend_.device());
  std::vector<at::Tensor> found, left;
  call(other, guards, {}, &left, &found);
  std::vector<at::Tensor> before, after;
  const auto collect = [&](size_t i) {
    before.push_back(found[i]);
    after.push_back(left[i]);
  };
  for (size_t i : own_) collect(i);
  const size_t derived_end = left.size() - draw.inputs.size();
  for (size_t i = state_.size(); keeps && i < derived_end; ++i) collect(i);
  seed_generators(seed);
  leftovers.scramble(before, after);
  for (size_t i = 0; i < own_.size(); ++i) state_[own_[i]] = after[i];
  if (keeps) derived_.emplace(after.begin() + static_cast<long>(own_.size()), after.end());
}

void OneTrial::skip_launches(const Draw& draw) {
  const auto has = [&](const Answer& answer) { return what_user_has(answer, draw.inputs.size()); };
  const auto again = [&](const ReplayOptions& options, const auto& use) {
    Guards guards(backend_.device());
    Answer answer(backend_, candidate_, not_overwritten_);
    answer.outputs = call(draw, guards, options, &answer.inputs_after);
    use(has(answer));
  };
  IdleLaunches idle(backend_, candidate_.task(), again, has(own_answer_));
  if (request_.check_noop && idle.are_all()) {
    note(report_.no_launch_changes, "without any launch the outputs are the same");
  }
  if (!request_.each_launch) return;
  const std::vector<int>& steps = candidate_.forward().launch_steps();
  if (request_.check_noop && steps.size() == 1 && launches(candidate_.task().derive) == 0) {
    if (!report_.no_launch_changes) report_.idle_launches = steps;  // the same question
    return;
  }
  std::ranges::copy_if(steps, std::back_inserter(report_.idle_launches),
                       [&](int step) { return idle.is(step); });
}

// Undefined are those that a part does not use.
std::vector<at::Tensor> OneTrial::inputs_for(const ReplayOptions& options, const Draw& draw) const {
  std::vector<at::Tensor> out = draw.inputs;
  const Program& program = candidate_.task().forward;
  const size_t others = program.inputs.size() - out.size();
  for (size_t i = 0; i < out.size() && options.part; ++i) {
    const int storage = program.values[program.inputs[others + i]].storage;
    if (!options.part->storages[storage]) out[i].reset();
  }
  return out;
}

// What a user has of a call: its outputs, and what it changed of the inputs and of the state that
// the reference has too.
std::vector<at::Tensor> OneTrial::what_user_has(const Answer& answer, size_t inputs) const {
  std::vector<at::Tensor> outputs = answer.outputs;
  const std::vector<at::Tensor>& after = answer.inputs_after;
  const auto& mutated = candidate_.forward().mutated_inputs();
  for (size_t i = 0; i < after.size(); ++i) {
    const bool derived = i >= state_.size() && i < after.size() - inputs;
    const bool own = derived || std::find(own_.begin(), own_.end(), i) != own_.end();
    if (mutated[i] && !own) outputs.push_back(after[i]);
  }
  return outputs;
}

void OneTrial::compare_outputs(const ReferenceSide& side) {
  const Program &ours = candidate_.task().forward, &theirs = reference_.task().forward;
  report_.outputs = side.errors;
  for (size_t i = 0; i < side.errors.size(); ++i) {
    OutputErrors& errors = report_.outputs[i];
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
    if (i < own_answer_.outputs.size() && same_shape(own_answer_.outputs[i], side.outputs[i])) {
      candidate_errors(own_answer_.outputs[i], side.outputs[i], side.oracle[i], errors);
      if (errors.integers > 0)
        errors.integers_wrong = integer_answers(own_answer_.outputs[i], side.oracle[i]).wrong;
      const at::Tensor &rounded = side.rounded[i], &fallen = side.fallen[i];
      const at::Tensor& as_far_off = rounded.defined() ? rounded : side.outputs[i];
      if (errors.section_excess > 1 && (rounded.defined() || fallen.defined())) {
        section_errors(own_answer_.outputs[i], as_far_off, fallen, side.oracle[i], errors);
      }
      if (side.gaps[i] > 0 && !fallen.defined()) {
        small_errors(own_answer_.outputs[i], as_far_off, side.oracle[i], side.gaps[i], errors);
      }
      if (errors.int_mismatch > 0 && fallen.defined()) {
        errors.int_mismatch = wrong_integers(own_answer_.outputs[i], side.outputs[i], fallen);
      }
    }
  }
  compare_choices(side);
}

// Indices of near ties are right.
void OneTrial::compare_choices(const ReferenceSide& side) {
  const std::vector<Choice>& choices = reference_.choices();
  for (size_t i = 0; i < choices.size(); ++i) {
    const size_t output = choices[i].output;
    OutputErrors& errors = report_.outputs[output];
    if (errors.int_mismatch == 0) continue;
    errors.int_mismatch =
        wrong_choices(choices[i], {side.among[i], side.slack[i], side.found[i]},
                      own_answer_.outputs[output], side.outputs[output], side.oracle[output]);
  }
}

void OneTrial::compare_inputs(const Draw& draw, const ReferenceSide& side) {
  compare_state_after(draw, side);
  const size_t inputs = own_answer_.inputs_after.size() - draw.inputs.size();
  compare_derived(inputs);
  for (size_t i = 0; i < draw.inputs.size(); ++i) {
    const at::Tensor& got = own_answer_.inputs_after[inputs + i];
    const size_t place = draw.state.size() + draw.derived.size() + i;
    const at::Tensor& expected = side.after[place];
    const std::string input = "input " + std::to_string(i);
    if (!expected.defined() && !bit_equal(got, draw.inputs[i])) {
      note(report_.inputs_unchanged, input + " was overwritten");
    } else if (expected.defined() &&
               !updated_alike(got, expected, draw.inputs[i], side.update(place))) {
      note(report_.inputs_unchanged,
           bit_equal(got, draw.inputs[i])
               ? input + ", which the reference updates, was left as it was"
               : input + " is updated otherwise than by the reference");
    }
  }
}

// What the program does not say it writes stays as it was: use_state() goes by what it says.
// Parameters that the reference has too are compared with its own.
void OneTrial::compare_derived(size_t end) {
  const size_t begin = state_.size();
  const auto& mutated = candidate_.forward().mutated_inputs();
  for (size_t i : own_) {
    if (!mutated[i] && !bit_equal(own_answer_.inputs_after[i], state_[i])) {
      note(report_.inputs_unchanged, "a launch writes to a tensor of the model and hides it");
    }
  }
  if (begin == end) return;
  Guards guards(backend_.device());
  const std::vector<at::Tensor> before =
      derived_ ? *derived_
               : candidate_.draw_derived(guards.copy(state_),
                                         {.fill = EmptyFill::kPoison, .guards = &guards});
  for (size_t i = begin; i < end; ++i) {
    if (!mutated[i] && !bit_equal(own_answer_.inputs_after[i], before[i - begin])) {
      note(report_.inputs_unchanged, "a launch writes to a derived tensor and hides it");
    }
  }
}

// Parameters stay as they were; buffers that the reference updates are updated alike.
void OneTrial::compare_state_after(const Draw& draw, const ReferenceSide& side) {
  const TensorsByName got =
      by_name(candidate_.task(),
              {own_answer_.inputs_after.begin(), own_answer_.inputs_after.begin() + state_.size()});
  const auto& entries = reference_.task().state;
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const std::string& name : entries[i].names) {
      const auto found = got.find(name);
      if (found == got.end() || !same_shape(found->second, draw.state[i])) continue;
      if (side.after[i].defined()) {
        if (!updated_alike(found->second, side.after[i], draw.state[i], side.update(i))) {
          note(report_.buffers_equal, "buffer " + name + " is updated otherwise");
        }
      } else if (report_.state_equal && !bit_equal(found->second, draw.state[i])) {
        note(report_.inputs_unchanged, name + " was overwritten");
      }
    }
  }
}

}  // namespace

TrialReport Trials::run(const TrialRequest& request, LoadedTask& reference, LoadedTask& candidate) {
  TrialReport report = attempt(request, reference, candidate);
  // What is kept of other trials may be what takes the memory.
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

}  // namespace kw
