#include "runtime/executor/loaded_task.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <set>

#include "runtime/executor/integers.h"
#include "runtime/executor/oracle.h"

namespace kw {
namespace {

// Floating tensors, one for each storage, as the whole storage: a change in place reaches every
// view of it once.
std::vector<at::Tensor> floating_storages(const std::vector<at::Tensor>& tensors) {
  std::set<const void*> seen;
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_floating_point() || tensor.storage().nbytes() == 0) continue;
    if (!seen.insert(tensor.storage().unsafeGetStorageImpl()).second) continue;
    const int64_t count = tensor.storage().nbytes() / tensor.element_size();
    out.push_back(tensor.as_strided({count}, {1}, 0));
  }
  return out;
}

// While it lives, operators that have a deterministic algorithm use it: a fragment's inputs are
// what the steps before it compute, and cuDNN's transposed convolutions may sum by atomics.
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

// Floating inputs that can be changed along their dimensions, one for each storage.
std::vector<at::Tensor> floating_inputs(const std::vector<at::Tensor>& inputs) {
  std::set<const void*> seen;
  std::vector<at::Tensor> out;
  for (const at::Tensor& input : inputs) {
    if (!input.is_floating_point() || !input.is_non_overlapping_and_dense()) continue;
    if (seen.insert(input.storage().unsafeGetStorageImpl()).second) out.push_back(input);
  }
  return out;
}

// One dimension at most has more than one element.
bool is_vector(const at::Tensor& tensor) {
  return std::all_of(tensor.sizes().begin(), tensor.sizes().end(),
                     [&](int64_t size) { return size == 1 || size == tensor.numel(); });
}

// Along each dimension, stretches of other scales, and large elements at both ends and at a few
// places between: what reads a part for the whole gives something else, whichever part it is, and
// so does, among millions, what does not read the last element. Nothing becomes more than ten times
// as large.
void make_uneven(at::Tensor tensor) {
  constexpr int64_t kStretches = 8, kMostBetween = 6;
  constexpr double kLargest = 10;
  const auto options = at::TensorOptions().dtype(at::kFloat);  // drawn on the CPU
  double largest = 1;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    const int64_t size = tensor.size(dim);
    if (size < 2) continue;
    const bool inner = dim >= tensor.dim() - 2;  // those outside bring the others' range too
    const double large = is_vector(tensor) ? 64 : inner ? 16 : 2;
    const at::Tensor scales = at::randint(inner ? -3 : -1, 1, {kStretches}, options).exp2();
    const at::Tensor stretch = at::arange(size, at::kLong).mul(kStretches).floor_divide(size);
    at::Tensor scale = scales.index_select(0, stretch);
    if (size >= kStretches) {
      largest *= large;
      scale[0] = large;
      scale[size - 1] = large;
      const int64_t between = std::min(kMostBetween, size / kStretches);
      scale.index_fill_(0, at::randint(size, {between}, at::kLong), large);
    }
    std::vector<int64_t> shape(static_cast<size_t>(tensor.dim()), 1);
    shape[dim] = size;
    tensor.mul_(scale.reshape(shape).to(tensor.options()));
  }
  tensor.mul_(kLargest / largest);
}

// A sixteenth of the indices of each dimension, one at least, and of the elements.
void put_zeros(at::Tensor tensor) {
  constexpr int64_t kOneOf = 16;
  tensor.masked_fill_(at::empty_like(tensor, at::kBool).bernoulli_(1.0 / kOneOf), 0);
  for (int64_t dim = 0; tensor.dim() > 1 && dim < tensor.dim(); ++dim) {
    const int64_t size = tensor.size(dim);
    if (size < 2) continue;
    const at::Tensor which =
        at::randperm(size, at::kLong).narrow(0, 0, (size + kOneOf - 1) / kOneOf);
    tensor.index_fill_(dim, which.to(tensor.device()), 0);
  }
}

void vary(const std::vector<at::Tensor>& inputs, Variation variation, uint64_t seed) {
  seed_generators(seed);
  if (variation == Variation::kUneven || variation == Variation::kZeros) {
    const auto change = variation == Variation::kUneven ? make_uneven : put_zeros;
    for (const at::Tensor& input : floating_inputs(inputs)) change(input);
    return;
  }
  for (at::Tensor& flat : floating_storages(inputs)) {
    switch (variation) {
      case Variation::kScaleDown:
        flat.mul_(0.1);
        break;
      case Variation::kScaleUp:
        flat.mul_(10);
        break;
      case Variation::kFlipped:
        flat.neg_();
        break;
      case Variation::kMixedSigns:
        flat.mul_(at::empty_like(flat).bernoulli_(0.5).mul_(2).sub_(1));
        break;
      case Variation::kIntegers:
        make_integers(flat, seed);
        break;
      default:
        break;
    }
  }
}

bool is_constant(const at::Tensor& tensor) {
  return tensor.numel() > 0 && tensor.eq(tensor.reshape({-1})[0]).all().item<bool>();
}

// Masks of ones (or zeros) say nothing of where they are read.
void draw_masks(std::vector<at::Tensor>& inputs, uint64_t seed) {
  seed_generators(seed);
  for (at::Tensor& input : inputs) {
    if (input.scalar_type() != at::kBool || !input.is_non_overlapping_and_dense()) continue;
    if (input.numel() > 1 && is_constant(input)) {
      input.copy_(at::rand(input.sizes(), at::TensorOptions().dtype(at::kFloat)).lt(0.5));
    }
  }
}

}  // namespace

uint64_t derive_seed(uint64_t seed, Purpose purpose) {
  // splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  uint64_t z = seed + 0x9e3779b97f4a7c15ull * (static_cast<uint64_t>(purpose) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void seed_generators(uint64_t seed) { at::manual_seed(seed); }

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
  return {part(0, state.size()),
          part(state.size(), derived.size()),
          part(inputs_begin, inputs.size()),
          {}};
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
  if (backend.device().is_cpu()) forward_->convolve_in_tf32();
  choices_ = find_choices(task_.forward);
}

Replay& LoadedTask::oracle() {
  if (!oracle_) {
    const Program program = with_choices(task_.forward, choices_);
    oracle_ = std::make_unique<Replay>(Replay::wide(widened(program), program, backend_.device()));
  }
  return *oracle_;
}

Replay& LoadedTask::traced() {
  if (choices_.empty()) return *forward_;
  if (!traced_) {
    traced_ = std::make_unique<Replay>(with_choices(task_.forward, choices_), task_.kernels,
                                       kernels_.get(), backend_.device());
    if (backend_.device().is_cpu()) traced_->convolve_in_tf32();
  }
  return *traced_;
}

std::vector<at::Tensor> LoadedTask::draw_state(uint64_t seed) {
  seed_generators(derive_seed(seed, Purpose::kInit));
  const Deterministic deterministic;
  // Parameters made by torch.empty hold whatever was there; here, zeros.
  return init_->run({}, {.fill = EmptyFill::kZero});
}

AffineChange LoadedTask::choose_affine(const std::vector<at::Tensor>& state, uint64_t seed) const {
  c10::InferenceMode inference;
  AffineChange change;
  seed_generators(seed);
  for (size_t i = 0; i < state.size(); ++i) {
    const StateEntry& entry = task_.state[i];
    if (entry.kind == "constant" || entry.names.empty()) continue;
    if (!state[i].is_floating_point() || !is_constant(state[i])) continue;
    const auto options = at::TensorOptions().dtype(at::kFloat);  // drawn on the CPU
    at::Tensor scale = at::rand(state[i].sizes(), options).add_(0.5);
    // Wide enough that what follows a bias saturates, is clamped and changes sign. Elements of a
    // matrix are summed.
    const double width = is_vector(state[i]) ? 10 : 1;
    at::Tensor shift = at::rand(state[i].sizes(), options).sub_(0.5).mul_(width);
    // A variance must stay positive.
    if (state[i].reshape({-1})[0].item<double>() != 0) shift.zero_();
    for (const std::string& name : entry.names) change[name] = {scale, shift};
  }
  return change;
}

// Parameters alone: what a buffer holds (a mask, positions), a candidate may know.
AffineChange LoadedTask::choose_integers(const std::vector<at::Tensor>& state,
                                         uint64_t seed) const {
  c10::InferenceMode inference;
  AffineChange change;
  for (size_t i = 0; i < state.size(); ++i) {
    const StateEntry& entry = task_.state[i];
    if (entry.kind != "parameter" || !state[i].is_floating_point()) continue;
    at::Tensor flat = state[i].reshape({-1}).clone();
    make_integers(flat, seed);
    const at::Tensor nothing = at::zeros({}, flat.options()).expand(state[i].sizes());
    for (const std::string& name : entry.names) {
      change[name] = {nothing, flat.reshape(state[i].sizes())};
    }
  }
  return change;
}

void LoadedTask::apply_affine(const AffineChange& change,
                              const std::vector<at::Tensor>& state) const {
  c10::InferenceMode inference;
  for (size_t i = 0; i < state.size(); ++i) {
    for (const std::string& name : task_.state[i].names) {
      const auto found = change.find(name);
      if (found == change.end() || found->second.scale.sizes() != state[i].sizes()) continue;
      const auto& [scale, shift] = found->second;
      at::Tensor target = state[i];
      target.mul_(scale.to(target.options())).add_(shift.to(target.options()));
      break;
    }
  }
}

std::vector<at::Tensor> LoadedTask::draw_derived(const std::vector<at::Tensor>& state,
                                                 const ReplayOptions& options) {
  const Deterministic deterministic;
  return derive_->run(state, options);
}

std::vector<at::Tensor> LoadedTask::draw_inputs(const std::vector<at::Tensor>& state, uint64_t seed,
                                                Variation variation, uint64_t variation_seed) {
  c10::InferenceMode inference;
  const Deterministic deterministic;
  seed_generators(derive_seed(seed, Purpose::kInputs));
  std::vector<at::Tensor> inputs = inputs_->run(state, {.fill = EmptyFill::kZero});
  // An input that is a parameter must not be changed with it.
  std::set<const void*> kept;
  for (const at::Tensor& tensor : state) kept.insert(tensor.storage().unsafeGetStorageImpl());
  for (at::Tensor& input : inputs) {
    if (kept.contains(input.storage().unsafeGetStorageImpl())) input = input.clone();
  }
  vary(inputs, variation, variation_seed);
  if (variation == Variation::kAffine) draw_masks(inputs, variation_seed);
  return inputs;
}

Draw LoadedTask::draw(uint64_t seed, Variation variation) {
  Draw out;
  out.state = draw_state(seed);
  const uint64_t variation_seed = derive_seed(seed, Purpose::kVariation);
  if (variation == Variation::kAffine) {
    out.affine = choose_affine(out.state, variation_seed);
  } else if (variation == Variation::kIntegers) {
    out.affine = choose_integers(out.state, variation_seed);
  }
  apply_affine(out.affine, out.state);
  out.derived = draw_derived(out.state, {.fill = EmptyFill::kZero});
  out.inputs = draw_inputs(out.state, seed, variation, variation_seed);
  return out;
}

}  // namespace kw
