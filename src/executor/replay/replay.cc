#include "executor/replay/replay.h"

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "formats/base/error.h"
#include "ops/operator.h"

namespace kw::exec {
namespace {

int storage_count(const Program& program) {
  int count = 0;
  for (const Value& value : program.values) count = std::max(count, value.storage + 1);
  return count;
}

// Returns true for views that fail, or mean something else, on strides other than the recorded
// ones.
bool needs_strides(const AtenCall& call) {
  return call.op == "aten.view.default" || call.op == "aten.view.dtype" ||
         call.op == "aten.view_as_complex.default" || call.op == "aten._unsafe_view.default" ||
         call.op == "aten.as_strided.default";
}

std::string first_line(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, std::min(text.find('\n'), size_t{500}));
}

std::string step_name(const Program& program, const std::vector<Kernel>& kernels, size_t index) {
  const Step& step = program.steps[index];
  const auto* call = std::get_if<AtenCall>(&step);
  return "step " + std::to_string(index) + " (" +
         (call ? call->op : "launch of " + kernels.at(std::get<Launch>(step).kernel).name) + ")";
}

// Sets the default dtype while it lives. Random steps without a dtype make the default one, which a
// wide run has set to float64.
class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType type) : before_(c10::get_default_dtype()) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
  }
  ~DefaultDtype() { c10::set_default_dtype(before_); }

 private:
  caffe2::TypeMeta before_;
};

constexpr double kLarge = 3e4;  // float16 holds it

// Fills the whole storage with numbers of both signs up to `largest`, without drawing from a
// generator. It repeats one stretch of a wave, because a wave as long as the tensor would take
// several passes.
void fill_with_numbers(const at::Tensor& made, double largest) {
  constexpr int64_t kStretch = int64_t{1} << 16;
  const int64_t count = static_cast<int64_t>(made.storage().nbytes() / made.element_size());
  if (count == 0) return;
  const int64_t stretch = std::min(count, kStretch), whole = count / stretch * stretch;
  const at::Tensor flat = made.as_strided({count}, {1}, 0);
  const at::Tensor wave =
      at::arange(stretch, made.options().dtype(at::kFloat)).sin_().mul_(largest);
  flat.narrow(0, 0, whole).view({-1, stretch}).copy_(wave.expand({whole / stretch, -1}));
  flat.narrow(0, whole, count - whole).copy_(wave.narrow(0, 0, count - whole));
}

}  // namespace

ReplayOptions ReplayOptions::timed() {
  ReplayOptions out;
  out.checked_ = false;
  return out;
}

ReplayOptions ReplayOptions::reference() {
  ReplayOptions out(Unwritten::kPoison);
  out.overwrites_ = true;
  return out;
}

ReplayOptions ReplayOptions::as_kernels() {
  ReplayOptions out = reference();
  out.as_kernels_ = true;
  return out;
}

ReplayOptions ReplayOptions::perturbed(int32_t dither, bool every_result) {
  ReplayOptions out = as_kernels();
  out.dither_ = dither;
  out.dithers_every_result_ = every_result;
  return out;
}

ReplayOptions ReplayOptions::ties_flipped() {
  ReplayOptions out = reference();
  out.flips_ties_ = true;
  return out;
}

ReplayOptions ReplayOptions::candidate(Guards& guards, Unwritten fill, const Ablation& ablation,
                                       LaunchWatch* watch) {
  ReplayOptions out = reference();
  out.fill_ = fill;
  out.guards_ = &guards;
  out.ablation_ = ablation;
  out.watch_ = watch;
  return out;
}

bool same_strides(const at::Tensor& tensor, const Value& value) {
  if (tensor.numel() == 0) return true;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) != 1 && tensor.stride(d) != value.strides[d]) return false;
  }
  return true;
}

std::vector<bool> find_mutated_inputs(const Program& program, const std::vector<Kernel>& kernels) {
  std::set<int> written;
  for (const Step& step : program.steps) {
    for (ValueId id : step_writes(step, kernels)) written.insert(program.values[id].storage);
  }
  std::vector<bool> out;
  for (ValueId id : program.inputs) out.push_back(written.contains(program.values[id].storage));
  return out;
}

// The state of one run.
struct Replay::Run {
  const ReplayOptions& options;
  std::vector<at::Tensor> slots;  // by value number
  // The actual aliasing: for each storage number in use its storage and the number of slots that
  // hold it; and the storage number of each storage.
  std::vector<c10::StorageImpl*> storage;
  std::vector<int> holders;
  std::unordered_map<c10::StorageImpl*, int> live;
};

Replay::Replay(Program program, const std::vector<Kernel>& kernels, KernelSet* set,
               at::Device device, bool exact_outputs)
    : program_(std::move(program)), device_(device) {
  prepare(kernels, set);
  mutated_inputs_ = find_mutated_inputs(program_, kernels);
  find_last_uses();
  find_exact_layouts(exact_outputs || !launch_steps_.empty());
}

Replay Replay::wide(Program program, Program narrow, at::Device device) {
  Replay replay(std::move(program), {}, nullptr, device);
  replay.narrow_ = std::move(narrow);
  return replay;
}

void Replay::prepare(const std::vector<Kernel>& kernels, KernelSet* set) {
  for (size_t i = 0; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    PreparedStep prepared;
    prepared.name = step_name(program_, kernels, i);
    try {
      if (const auto* call = std::get_if<AtenCall>(&step)) {
        prepared.call.emplace(*call, device_);
        prepared.defines = call->results;
        prepared.empty = makes_empty(call->op);
        const OperatorRow* row = find_operator(call->op);
        prepared.as_kernels = KernelArithmetic::of(program_, *call);
        prepared.rounds = rounds_results(*call);
        const auto argument = [&](std::string_view name) {
          const Arg* arg = call->find(name);
          return arg && arg->is_value() ? arg->value() : -1;
        };
        std::istringstream probabilities{std::string(row ? row->probabilities : "")};
        for (std::string name; probabilities >> name;) {
          if (const ValueId id = argument(name); id >= 0) prepared.probabilities.push_back(id);
        }
        if (row && argument("sorter") < 0) prepared.in_order = argument(row->in_order);
      } else {
        const auto& launch = std::get<Launch>(step);
        const Kernel& kernel = kernels.at(launch.kernel);
        check_specialization(kernel, launch);
        for (size_t a = 0; a < launch.args.size(); ++a) {
          prepared.launch_values.push_back(launch.args[a].is_value() ? launch.args[a].value() : -1);
          prepared.alignments.push_back(divisibility(kernel, runtime_params(kernel)[a]));
        }
        prepared.launch = set->prepare(launch);
        launch_steps_.push_back(static_cast<int>(i));
      }
    } catch (const InputError& error) {
      throw ReplayError(prepared.name + ": " + error.what());
    }
    steps_.push_back(std::move(prepared));
  }
}

void Replay::find_last_uses() {
  std::vector<int> last(program_.values.size(), -1);
  for (size_t i = 0; i < program_.steps.size(); ++i) {
    Step step = program_.steps[i];
    for_each_value(step, [&](ValueId& id) { last[id] = static_cast<int>(i); });
  }
  std::vector<bool> used(last.size());
  for (size_t id = 0; id < last.size(); ++id) used[id] = last[id] >= 0;
  for (ValueId id : program_.outputs) {
    used[id] = true;
    last[id] = -1;
  }
  // Unused results may be workspace, whose form differs between backends.
  for (PreparedStep& step : steps_) {
    for (ValueId& id : step.defines) {
      if (id >= 0 && !used[id]) id = -1;
    }
  }
  for (size_t id = 0; id < last.size(); ++id) {
    if (last[id] >= 0) steps_[last[id]].release.push_back(static_cast<ValueId>(id));
  }
}

void Replay::find_exact_layouts(bool exact_outputs) {
  exact_.assign(storage_count(program_), false);
  output_.assign(exact_.size(), false);
  input_.assign(exact_.size(), false);
  launched_.assign(exact_.size(), false);
  for (const Step& original : program_.steps) {
    Step step = original;
    const auto* call = std::get_if<AtenCall>(&step);
    if (call && !needs_strides(*call)) continue;
    for_each_value(step, [&](ValueId& id) {
      exact_[program_.values[id].storage] = true;
      if (!call) launched_[program_.values[id].storage] = true;
    });
  }
  for (ValueId id : program_.inputs) input_[program_.values[id].storage] = true;
  for (ValueId id : program_.outputs) {
    output_[program_.values[id].storage] = true;
    if (exact_outputs) exact_[program_.values[id].storage] = true;
  }
}

std::vector<at::Tensor> Replay::run(std::vector<at::Tensor> inputs, const ReplayOptions& options) {
  c10::InferenceMode inference;
  std::optional<DefaultDtype> widened;
  if (narrow_) widened.emplace(at::kDouble);
  if (inputs.size() != program_.inputs.size()) {
    throw ReplayError("takes " + std::to_string(program_.inputs.size()) + " inputs, got " +
                      std::to_string(inputs.size()));
  }
  guards_intact_ = true;
  Run run{options,
          std::vector<at::Tensor>(program_.values.size()),
          std::vector<c10::StorageImpl*>(exact_.size()),
          std::vector<int>(exact_.size()),
          {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = program_.inputs[i];
    if (options.ablation_.part && !options.ablation_.part->storages[program_.values[id].storage])
      continue;
    define(-1, id, std::move(inputs[i]), run);
  }
  inputs.clear();
  try {
    run_steps(run);
  } catch (const DeviceLost&) {  // the process ends, and its memory with it
    throw;
  } catch (...) {
    overwrite_all(run);
    throw;
  }
  std::vector<at::Tensor> outputs;
  for (ValueId id : program_.outputs) {
    outputs.push_back(gives_parts_ ? parts_of(run.slots[id]) : run.slots[id]);
  }
  laid_out_ = laid_out_ || (options.checked_ && !options.ablation_.part);
  return outputs;
}

void Replay::run_steps(Run& run) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    try {
      run_step(static_cast<int>(i), run);
    } catch (const NotJudged& error) {
      throw NotJudged(steps_[i].name + ": " + error.what());
    } catch (const EnvironmentError& error) {  // the machine is at fault, and neither side is
      throw NotJudged(steps_[i].name + ": " + error.what());
    } catch (const DeviceLost& error) {
      throw DeviceLost(steps_[i].name + ": " + error.what());
    } catch (const std::exception& error) {
      if (lacks_memory(error)) throw NotJudged(steps_[i].name + ": out of memory");
      throw ReplayError(steps_[i].name + ": " + first_line(error));
    }
  }
}

// Overwrites what a failed run leaves.
void Replay::overwrite_all(Run& run) const {
  run.live.clear();
  try {
    for (size_t id = 0; id < run.slots.size(); ++id) {
      if (!input_[program_.values[id].storage]) overwrite(run.slots[id], run);
    }
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& error) {
    throw NotJudged("what a failed run left could not be overwritten: " + first_line(error));
  }
}

void Replay::run_step(int index, Run& run) {
  const Ablation& ablation = run.options.ablation_;
  const bool is_in_part = !ablation.part || ablation.part->steps[index];
  if (is_in_part && steps_[index].call) {
    run_call(index, run);
  } else if (is_in_part && !ablation.all_launches && ablation.launch != index) {
    if (run.options.watch_) run.options.watch_->before(index, run.slots);
    run_launch(index, run);
    if (run.options.watch_) run.options.watch_->after(index, run.slots);
  }
  for (ValueId id : steps_[index].release) release(id, run);
  if (run.options.guards_ && !steps_[index].release.empty()) run.options.guards_->sweep();
}

void Replay::run_call(int index, Run& run) {
  const PreparedStep& step = steps_[index];
  // PyTorch's own assertion on the device would end the process.
  for (ValueId id : run.options.checked_ ? step.probabilities : std::vector<ValueId>()) {
    const at::Tensor& p = run.slots[id];
    if (!p.ge(0).logical_and(p.le(1)).all().item<bool>()) {
      throw ReplayError("all elements of its input and its target should be between 0 and 1");
    }
  }
  if (step.in_order >= 0 && run.options.checked_) {
    const at::Tensor& sequence = run.slots[step.in_order];
    if (sequence.dim() > 0 && sequence.diff(1, -1).lt(0).any().item<bool>()) {
      throw ReplayError("what it looks up is not in order");
    }
  }
  std::vector<at::Tensor> results =
      narrow_ && step.call->random() ? call_narrow(index, run) : call_dithered(index, run);
  if (results.size() != step.defines.size()) {
    throw ReplayError("gave " + std::to_string(results.size()) + " results, recorded are " +
                      std::to_string(step.defines.size()));
  }
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueId id = step.defines[k];
    if (id < 0) continue;
    if (!results[k].defined()) throw ReplayError("gave no tensor where one is recorded");
    if (step.empty)
      results[k] = fill_empty(std::move(results[k]), id, run);
    else if (run.options.guards_)
      guard(index, results[k], id, run);
    define(index, id, std::move(results[k]), run);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (step.defines[k] < 0) overwrite(results[k], run);
  }
}

bool Replay::has_kernel_arithmetic() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const PreparedStep& step) {
    return step.as_kernels && !step.as_kernels->is_rounding() && !step.as_kernels->is_for_doubt();
  });
}

bool Replay::has_near_ties() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const PreparedStep& step) {
    return step.as_kernels && step.as_kernels->is_rounding();
  });
}

std::vector<at::Tensor> Replay::call(const PreparedStep& step, const Run& run) const {
  const auto& kernels = step.as_kernels;
  if (!kernels) return step.call->run(run.slots);
  if (kernels->is_rounding() ? run.options.flips_ties_ : run.options.as_kernels_)
    return kernels->run(*step.call, run.slots, run.options.dither_);
  if (convolve_in_tf32_ && kernels->is_convolution())
    return kernels->run_in_tf32(*step.call, run.slots);
  return step.call->run(run.slots);
}

std::vector<at::Tensor> Replay::call_dithered(int index, const Run& run) const {
  const PreparedStep& step = steps_[index];
  std::vector<at::Tensor> results = call(step, run);
  if (!run.options.dithers_every_result_ || !step.rounds) return results;
  // A CPU's generator uses 32 bits of a seed.
  const auto of_run = static_cast<uint32_t>(run.options.dither_) * 0x9e3779b9u;
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].defined()) continue;
    const auto place = 8 * static_cast<uint32_t>(index) + static_cast<uint32_t>(k);
    const at::Tensor off = right_to_a_unit(results[k], of_run + place);
    if (!off.is_same(results[k])) overwrite(std::exchange(results[k], off), run);
  }
  return results;
}

void Replay::run_launch(int index, Run& run) {
  const PreparedStep& step = steps_[index];
  std::vector<at::Tensor> tensors(step.launch_values.size());
  for (size_t a = 0; a < tensors.size(); ++a) {
    const ValueId id = step.launch_values[a];
    if (id < 0) continue;
    tensors[a] = run.slots[id];
    if (reinterpret_cast<uintptr_t>(tensors[a].data_ptr()) % step.alignments[a] != 0) {
      throw ReplayError("argument " + std::to_string(a) + " is not aligned to " +
                        std::to_string(step.alignments[a]) + " bytes as its kernel expects");
    }
  }
  if (!step.launch->run(tensors)) guards_intact_ = false;
}

// Runs a random step of a wide run in its own dtypes and widens the results, so that it draws what
// the recorded program draws.
std::vector<at::Tensor> Replay::call_narrow(int index, Run& run) {
  DefaultDtype recorded(at::kFloat);
  std::vector<at::Tensor> slots = run.slots;
  std::vector<std::pair<ValueId, at::Tensor>> narrowed;
  Step step = program_.steps[index];
  for_each_value(step, [&](ValueId& id) {
    at::Tensor& slot = slots[id];
    const at::ScalarType type = scalar_type(narrow_->values[id].dtype);
    if (slot.scalar_type() == type) return;
    slot = slot.to(type);
    narrowed.emplace_back(id, slot);
  });
  std::vector<at::Tensor> results = steps_[index].call->run(slots);
  const auto& mutated = std::get<AtenCall>(step).mutated;
  for (const auto& [id, tensor] : narrowed) {
    if (std::find(mutated.begin(), mutated.end(), id) == mutated.end()) continue;
    run.slots[id].copy_(tensor);
    for (at::Tensor& result : results) {
      if (result.is_alias_of(tensor)) result = run.slots[id];
    }
  }
  return results;
}

// Gives a fresh result that a launch reads or writes guards of its own, so that what the launch
// writes around it shows.
void Replay::guard(int index, at::Tensor& result, ValueId id, Run& run) {
  const int storage = program_.values[id].storage;
  const auto& defines = steps_[index].defines;
  const auto shares = std::count_if(defines.begin(), defines.end(), [&](ValueId other) {
    return other >= 0 && program_.values[other].storage == storage;
  });
  if (!launched_[storage] || run.holders[storage] > 0 || shares > 1) return;
  if (run.live.contains(result.storage().unsafeGetStorageImpl())) return;  // define() copies it
  const at::Tensor made =
      run.options.guards_->empty(result.sizes(), result.strides(), result.scalar_type());
  made.copy_(result);
  overwrite(result, run);
  result = made;
}

at::Tensor Replay::fill_empty(at::Tensor made, ValueId id, Run& run) {
  if (!run.options.fill_) return made;
  if (run.options.guards_) {
    const std::vector<int64_t> sizes = made.sizes().vec(), strides = made.strides().vec();
    const at::ScalarType type = made.scalar_type();
    made.reset();  // its memory may serve for the guarded one
    made = run.options.guards_->empty(sizes, strides, type);
  } else {
    poison_storage(made);
  }
  const Value& value = program_.values[id];
  if (run.options.ablation_.unwritten && !output_[value.storage]) {
    made.fill_(is_floating(value.dtype) ? *run.options.ablation_.unwritten : 0);
    return made;
  }
  switch (*run.options.fill_) {
    case Unwritten::kPoison:
      break;
    case Unwritten::kZeros:
      made.zero_();
      break;
    case Unwritten::kNumbers:
    case Unwritten::kLarge:
      if (is_floating(value.dtype)) {
        fill_with_numbers(made, run.options.fill_ == Unwritten::kLarge ? kLarge : 1);
      }
      break;
  }
  return made;
}

void Replay::define(int index, ValueId id, at::Tensor tensor, Run& run) {
  const Value& value = program_.values[id];
  if (tensor.is_conj() || tensor.is_neg()) tensor = tensor.resolve_conj().resolve_neg();
  if (narrow_ && tensor.is_floating_point() && tensor.scalar_type() != at::kDouble) {
    tensor = tensor.to(at::kDouble);
  } else if (narrow_ && tensor.is_complex() && tensor.scalar_type() != at::kComplexDouble) {
    tensor = tensor.to(at::kComplexDouble);
  }
  const bool input = index < 0;
  if (!run.options.checked_) {
    if (!input && relaid_.contains(index)) {
      tensor = at::empty_strided(value.shape, value.strides, tensor.options()).copy_(tensor);
    }
    run.slots[id] = std::move(tensor);
    return;
  }
  const auto complain = [&](const std::string& message) {
    throw ReplayError(input ? "input " + std::to_string(id) + " " + message : message);
  };
  if (tensor.scalar_type() != scalar_type(value.dtype)) {
    complain(std::string("is ") + c10::toString(tensor.scalar_type()) + ", recorded is " +
             std::string(dtype_name(value.dtype)));
  }
  if (tensor.sizes() != at::IntArrayRef(value.shape)) {
    complain("has shape " + c10::str(tensor.sizes()) + ", recorded is " +
             c10::str(at::IntArrayRef(value.shape)));
  }
  const bool aliases = run.holders[value.storage] > 0;
  c10::StorageImpl* actual = tensor.storage().unsafeGetStorageImpl();
  if (aliases && run.storage[value.storage] != actual) complain("does not alias as recorded");
  const bool strides_differ = exact_[value.storage] && !same_strides(tensor, value);
  const bool hidden_alias = !aliases && run.live.contains(actual);
  if (strides_differ && (aliases || input)) complain("has other strides than recorded");
  if (!input && (strides_differ || hidden_alias)) {
    const at::Tensor laid_out =
        at::empty_strided(value.shape, value.strides, tensor.options()).copy_(tensor);
    overwrite(tensor, run);
    tensor = laid_out;
    actual = tensor.storage().unsafeGetStorageImpl();
    relaid_.insert(index);
  }
  if (!aliases) {
    run.storage[value.storage] = actual;
    run.live.emplace(actual, value.storage);
  }
  ++run.holders[value.storage];
  run.slots[id] = std::move(tensor);
}

// Overwrites a tensor that is about to be freed, unless others hold its memory.
void Replay::overwrite(const at::Tensor& tensor, const Run& run) const {
  if (!run.options.overwrites_ || !run.options.checked_ || !tensor.defined()) return;
  if (!run.live.contains(tensor.storage().unsafeGetStorageImpl())) poison_storage(tensor);
}

void Replay::release(ValueId id, Run& run) {
  const int storage = program_.values[id].storage;
  if (run.options.checked_ && run.slots[id].defined() && --run.holders[storage] == 0) {
    const auto found = run.live.find(run.storage[storage]);
    if (found != run.live.end() && found->second == storage) run.live.erase(found);
    if (!input_[storage]) overwrite(run.slots[id], run);
  }
  run.slots[id].reset();
}

}  // namespace kw::exec
