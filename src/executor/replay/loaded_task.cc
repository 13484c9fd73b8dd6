#include "executor/replay/loaded_task.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <set>

#include "executor/discrete/integers.h"
#include "executor/replay/oracle.h"
#include "executor/replay/vary.h"
#include "ops/operator.h"
#include "program/makers.h"
#include "program/rewrite/tables.h"

namespace kw::exec {
namespace {

// While it lives, operators that have a deterministic algorithm use it. A fragment's inputs are
// computed by the steps before it, and cuDNN's transposed convolutions may sum by atomics.
class Deterministic {
 public:
  Deterministic() : quiet_(&ignore_) {
    context_.setDeterministicCuDNN(true);
    context_.setDeterministicAlgorithms(true, /*warn_only=*/true);
    context_.setDeterministicFillUninitializedMemory(false);  // a Replay fills it itself
  }
  ~Deterministic() {
    context_.setDeterministicCuDNN(cudnn_);
    context_.setDeterministicAlgorithms(algorithms_, warn_only_);
    context_.setDeterministicFillUninitializedMemory(fill_);
  }
  Deterministic(const Deterministic&) = delete;
  Deterministic& operator=(const Deterministic&) = delete;

 private:
  struct Ignore : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  };
  at::Context& context_ = at::globalContext();
  const bool cudnn_ = context_.deterministicCuDNN();
  const bool algorithms_ = context_.deterministicAlgorithms();
  const bool warn_only_ = context_.deterministicAlgorithmsWarnOnly();
  const bool fill_ = context_.deterministicFillUninitializedMemory();
  Ignore ignore_;
  c10::WarningUtils::WarningHandlerGuard quiet_;
};

// Returns whether constant inputs change too, as they do whenever parameters change.
bool changes_constants(Variation variation) {
  return variation == Variation::kAffine || variation == Variation::kParameters;
}

at::Tensor draw_scale(at::IntArrayRef shape, bool any_sign) {
  const auto options = at::TensorOptions().dtype(at::kFloat);  // drawn on the CPU
  at::Tensor scale = at::rand(shape, options).add_(0.5);
  if (any_sign) scale.mul_(at::randint(2, shape, options).mul_(2).sub_(1));
  return scale;
}

// Returns a change of a tensor that its constructor left at 0 or 1.
ScaleShift change_of_constant(const at::Tensor& tensor, bool any_sign) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor scale = draw_scale(tensor.sizes(), any_sign);
  // The shift is so wide that what follows a bias saturates, is clamped and changes sign. It is
  // narrower for a matrix, whose elements are summed.
  const double width = is_vector(tensor) ? 10 : 1;
  at::Tensor shift = at::rand(tensor.sizes(), options).sub_(0.5).mul_(width);
  // A variance must stay positive.
  if (tensor.reshape({-1})[0].item<double>() != 0) shift.mul_(any_sign ? 0.4 : 0);
  return {scale, shift};
}

// Gives every index of the first dimension a factor, and every index of the last one an addend of a
// tenth of the tensor's RMS. So nothing that a constructor leaves there stays, such as zeros off a
// diagonal or copies of another parameter. A large matrix costs only two vectors.
ScaleShift change_of_parameter(const at::Tensor& tensor) {
  std::vector<int64_t> first(static_cast<size_t>(tensor.dim()), 1), last = first;
  first.front() = tensor.size(0);
  last.back() = tensor.size(-1);
  constexpr double kShare = 0.1;
  const at::Tensor size = tensor.to(at::kFloat).square().mean().sqrt().cpu();
  const auto options = at::TensorOptions().dtype(at::kFloat);
  return {draw_scale(first, true), at::randn(last, options).mul_(size * kShare)};
}

// Gives every index of the first dimension a positive factor.
ScaleShift scale_of_rows(const at::Tensor& tensor) {
  std::vector<int64_t> first(static_cast<size_t>(tensor.dim()), 1);
  if (!first.empty()) first.front() = tensor.size(0);
  return {draw_scale(first, false), at::zeros({}, at::kFloat)};
}

bool varies(size_t input, const Varied& varied) {
  return varied.only < 0 || static_cast<size_t>(varied.only) == input;
}

// Returns whether a variation changes elements one by one, so that equal ones become different.
bool changes_elements_apart(Variation variation) {
  return variation == Variation::kUneven || variation == Variation::kZeros ||
         variation == Variation::kMixedSigns || variation == Variation::kOutliers;
}

bool is_fixed(int entry, const Varied& varied) {
  return std::ranges::find(varied.fixed, entry) != varied.fixed.end();
}

bool is_drawn_mask(const Program& inputs, ValueId id) {
  return inputs.values[id].dtype == DType::kBool && !is_overwritten(inputs, id) &&
         is_drawn(inputs, id);
}

// Copies an input that is also a parameter, so that varying it does not change the parameter.
void copy_parameters(const std::vector<at::Tensor>& state, std::vector<at::Tensor>& inputs) {
  std::set<const void*> kept;
  for (const at::Tensor& tensor : state) kept.insert(tensor.storage().unsafeGetStorageImpl());
  for (at::Tensor& input : inputs) {
    if (kept.contains(input.storage().unsafeGetStorageImpl())) input = input.clone();
  }
}

}  // namespace

std::vector<at::Tensor> Draw::all() const {
  std::vector<at::Tensor> out = state;
  out.insert(out.end(), derived.begin(), derived.end());
  out.insert(out.end(), inputs.begin(), inputs.end());
  return out;
}

Draw Draw::with(std::span<const at::Tensor> all) const {
  const auto inputs_begin = state.size() + derived.size();
  const auto part = [&](size_t begin, size_t count) {
    const auto some = all.subspan(begin, count);
    return std::vector<at::Tensor>(some.begin(), some.end());
  };
  return {part(0, state.size()), part(state.size(), derived.size()),
          part(inputs_begin, inputs.size())};
}

LoadedTask::LoadedTask(Task task, Backend& backend) : task_(std::move(task)), backend_(backend) {
  kernels_ = backend.load(task_.kernels);
  const auto prepare = [&](const Program& program, const char* name, bool exact_outputs) {
    try {
      return std::make_unique<Replay>(program, task_.kernels, kernels_.get(), backend.device(),
                                      exact_outputs);
    } catch (const ReplayError& error) {
      throw ReplayError(std::string(name) + ": " + error.what());
    }
  };
  init_ = prepare(task_.init, "init", true);
  derive_ = prepare(task_.derive, "derive", true);
  inputs_ = prepare(task_.inputs, "inputs", true);
  forward_ = prepare(task_.forward, "forward", false);
  forward_->give_parts_of_complex();
  if (backend.device().is_cpu()) forward_->convolve_in_tf32();
  varied_state_ = varied_state(task_);
  discrete_outputs_ = find_discrete_outputs(task_.forward);
  for (ValueId id : task_.inputs.outputs) random_masks_.push_back(is_drawn_mask(task_.inputs, id));
  tables_ = are_tables(task_.inputs);
  compared_numbers_ = compared_numbers(task_);
}

Replay& LoadedTask::oracle() {
  if (!oracle_) {
    const Program program = with_sources(task_.forward, discrete_outputs_);
    oracle_ = std::make_unique<Replay>(Replay::wide(widened(program), program, backend_.device()));
    oracle_->give_parts_of_complex();
  }
  return *oracle_;
}

Replay& LoadedTask::traced() {
  if (discrete_outputs_.empty()) return *forward_;
  if (!traced_) {
    traced_ = std::make_unique<Replay>(with_sources(task_.forward, discrete_outputs_),
                                       task_.kernels, kernels_.get(), backend_.device());
    traced_->give_parts_of_complex();
    if (backend_.device().is_cpu()) traced_->convolve_in_tf32();
  }
  return *traced_;
}

std::vector<at::Tensor> LoadedTask::draw_state(uint64_t seed) {
  seed_generators(derive_seed(seed, Purpose::kInit));
  const Deterministic deterministic;
  // Parameters that torch.empty makes are uninitialised; here they are zeros.
  return init_->run({}, ReplayOptions(Unwritten::kZeros));
}

AffineChange LoadedTask::choose_affine(const std::vector<at::Tensor>& state, uint64_t seed,
                                       const Varied& varied) const {
  c10::InferenceMode inference;
  AffineChange change(state.size());
  const bool any_sign = varied.variation == Variation::kParameters;
  seed_generators(seed);
  for (const int i : varied_state_) {
    if (state[i].numel() == 0 || is_fixed(i, varied)) continue;
    const at::Tensor tensor = parts_of(state[i]);
    if (is_constant(tensor)) {
      change[i] = change_of_constant(tensor, any_sign && task_.state[i].kind == "parameter");
    } else {
      change[i] = any_sign ? change_of_parameter(tensor) : scale_of_rows(tensor);
    }
  }
  return change;
}

// Changes parameters alone. A candidate may rely on what a buffer holds, such as a mask or
// positions.
AffineChange LoadedTask::choose_integers(const std::vector<at::Tensor>& state, uint64_t seed,
                                         const Varied& varied) const {
  c10::InferenceMode inference;
  AffineChange change(state.size());
  for (const int i : varied_state_) {
    if (task_.state[i].kind != "parameter" || is_fixed(i, varied)) continue;
    const at::Tensor tensor = parts_of(state[i]);
    at::Tensor flat = tensor.reshape({-1}).clone();
    make_integers(flat, seed);
    const at::Tensor nothing = at::zeros({}, flat.options()).expand(tensor.sizes());
    change[i] = {nothing, flat.reshape(tensor.sizes())};
  }
  return change;
}

void LoadedTask::apply_affine(const AffineChange& change, const std::vector<at::Tensor>& state) {
  c10::InferenceMode inference;
  for (size_t i = 0; i < change.size(); ++i) {
    if (!change[i]) continue;
    const auto& [scale, shift] = *change[i];
    at::Tensor target = parts_of(state[i]);
    target.mul_(scale.to(target.options())).add_(shift.to(target.options()));
  }
}

std::vector<at::Tensor> LoadedTask::draw_derived(const std::vector<at::Tensor>& state,
                                                 const ReplayOptions& options) {
  const Deterministic deterministic;
  return derive_->run(state, options);
}

std::vector<at::Tensor> LoadedTask::draw_inputs(const std::vector<at::Tensor>& state, uint64_t seed,
                                                const Varied& varied, uint64_t variation_seed) {
  c10::InferenceMode inference;
  const Deterministic deterministic;
  seed_generators(derive_seed(seed, Purpose::kInputs));
  std::vector<at::Tensor> inputs = inputs_->run(state, ReplayOptions(Unwritten::kZeros));
  copy_parameters(state, inputs);
  if (changes_constants(varied.variation)) {
    draw_constants(inputs, derive_seed(variation_seed, Purpose::kConstants));
    return inputs;
  }
  const bool apart = changes_elements_apart(varied.variation);
  if (apart) vary_tables(state, seed, varied, variation_seed, inputs);
  std::vector<at::Tensor> some;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (varies(i, varied) && !(apart && tables_[i])) some.push_back(inputs[i]);
  }
  vary(some, varied.variation, variation_seed);
  for (size_t i = 0; i < inputs.size() && varied.variation == Variation::kTies; ++i) {
    if (varies(i, varied)) put_numbers(inputs[i], compared_numbers_[i]);
  }
  for (size_t i = 0; i < inputs.size() && varied.variation == Variation::kZeros; ++i) {
    if (random_masks_[i] && inputs[i].is_non_overlapping_and_dense() && varies(i, varied))
      put_whole_rows(inputs[i]);
  }
  return inputs;
}

SourcedReplay& LoadedTask::sourced_inputs() {
  if (!sourced_inputs_) {
    sourced_inputs_ = std::make_unique<SourcedReplay>(task_, kernels_.get(), backend_.device());
  }
  return *sourced_inputs_;
}

// Replaces the tables among `inputs` by tables that are built of varied numbers.
void LoadedTask::vary_tables(const std::vector<at::Tensor>& state, uint64_t seed,
                             const Varied& varied, uint64_t variation_seed,
                             std::vector<at::Tensor>& inputs) {
  const auto counts = [&](size_t i) { return tables_[i] && varies(i, varied); };
  bool some = false;
  for (size_t i = 0; i < inputs.size(); ++i) some = some || counts(i);
  if (!some) return;
  const Program& made = sourced_inputs().split().made;
  const auto built = sourced_inputs().run(state, seed, [&](const std::vector<at::Tensor>& sources) {
    std::vector<at::Tensor> fixed;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!is_drawn(made, made.outputs[i])) fixed.push_back(sources[i]);
    }
    vary(fixed, varied.variation, variation_seed);
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (counts(i)) inputs[i] = built[i];
  }
}

std::vector<at::Tensor> LoadedTask::draw_whole(const Draw& draw, uint64_t seed,
                                               Variation variation) {
  const Deterministic deterministic;
  if (!whole_inputs_) {
    whole_inputs_ = std::make_unique<WholeInputs>(task_, sourced_inputs(), on_cpu_);
  }
  std::vector<at::Tensor> inputs = whole_inputs_->draw(draw.state, draw.derived, seed, variation);
  copy_parameters(draw.state, inputs);
  return inputs;
}

void LoadedTask::cross(Draw& draw, uint64_t seed, int index) {
  if (!crossed_inputs_) crossed_inputs_ = std::make_unique<CrossedInputs>(task_);
  const Scaling scaling =
      crossed_inputs_->scaling(static_cast<size_t>(index), draw.state, draw.inputs, seed);
  {
    c10::InferenceMode inference;
    scale(scaling, draw.state, draw.inputs);
  }
  draw.derived = draw_derived(draw.state, ReplayOptions(Unwritten::kZeros));
  if (on_cpu_.takes(draw.all(), seed) == CpuReference::Taken::kNo) {
    throw ReplayError("it takes no inputs beyond the threshold");
  }
}

void LoadedTask::use(const std::vector<at::Tensor>& state, const std::vector<at::Tensor>& derived,
                     uint64_t seed) {
  for (int i = 0; i < kEarlierCalls; ++i) {
    const uint64_t call_seed = derive_seed(seed + static_cast<uint64_t>(i), Purpose::kStale);
    std::vector<at::Tensor> all = state;
    all.insert(all.end(), derived.begin(), derived.end());
    for (at::Tensor& input : draw_inputs(state, call_seed)) all.push_back(std::move(input));
    seed_generators(derive_seed(call_seed, Purpose::kForward));
    forward_->run(std::move(all), ReplayOptions(Unwritten::kZeros));
  }
}

Draw LoadedTask::draw(uint64_t seed, const Varied& varied) {
  const Variation variation = varied.variation;
  if (variation == Variation::kCrossed && crossed_inputs_) {
    crossed_inputs_->expect(static_cast<size_t>(varied.only), seed);
  }
  Draw out;
  out.state = draw_state(seed);
  const uint64_t variation_seed = derive_seed(seed, Purpose::kVariation);
  if (variation == Variation::kAffine || variation == Variation::kParameters) {
    apply_affine(choose_affine(out.state, variation_seed, varied), out.state);
  } else if (variation == Variation::kIntegers) {
    apply_affine(choose_integers(out.state, variation_seed, varied), out.state);
  }
  out.derived = draw_derived(out.state, ReplayOptions(Unwritten::kZeros));
  if (variation == Variation::kUsed) use(out.state, out.derived, variation_seed);
  out.inputs = source_change(variation) ? draw_whole(out, seed, variation)
                                        : draw_inputs(out.state, seed, varied, variation_seed);
  if (variation == Variation::kCrossed) cross(out, seed, varied.only);
  return out;
}

}  // namespace kw::exec
