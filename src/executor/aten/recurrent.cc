#include "executor/aten/recurrent.h"

#include <ATen/ops/_cudnn_rnn_flatten_weight.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace kw::exec {
namespace {

// Returns cuDNN's number for a kind of network (cudnnRNNMode_t).
std::optional<int64_t> mode_of(std::string_view op) {
  static const std::map<std::string_view, int64_t> modes = {{"aten.rnn_relu.input", 0},
                                                            {"aten.rnn_tanh.input", 1},
                                                            {"aten.lstm.input", 2},
                                                            {"aten.gru.input", 3}};
  const auto found = modes.find(op);
  return found == modes.end() ? std::nullopt : std::optional(found->second);
}

template <class T>
T constant(const AtenCall& call, std::string_view name, T otherwise) {
  const Arg* arg = call.find(name);
  const T* value = arg ? std::get_if<T>(&arg->v) : nullptr;
  return value ? *value : otherwise;
}

// Returns the weights of `call` if all of them are among `inputs`, on a GPU, and share no storage;
// otherwise nothing.
std::vector<at::Tensor> weights_of(const Program& program, const AtenCall& call,
                                   const std::vector<at::Tensor>& inputs) {
  const Arg* params = call.find("params");
  const auto* list = params ? std::get_if<ArgList>(&params->v) : nullptr;
  if (!list) return {};
  std::vector<at::Tensor> weights;
  for (const Arg& arg : *list) {
    if (!arg.is_value()) return {};
    const auto at = std::find(program.inputs.begin(), program.inputs.end(), arg.value());
    const auto place = static_cast<size_t>(at - program.inputs.begin());
    if (place >= inputs.size() || !inputs[place].is_cuda()) return {};
    weights.push_back(inputs[place]);
  }
  std::multiset<const void*> storages;
  for (const at::Tensor& input : inputs) storages.insert(input.storage().unsafeGetStorageImpl());
  const bool own = std::all_of(weights.begin(), weights.end(), [&](const at::Tensor& weight) {
    return storages.count(weight.storage().unsafeGetStorageImpl()) == 1;
  });
  return own ? weights : std::vector<at::Tensor>();
}

}  // namespace

void flatten_recurrent_weights(const Program& program, const std::vector<at::Tensor>& inputs) {
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const auto mode = call ? mode_of(call->op) : std::nullopt;
    if (!mode) continue;
    const std::vector<at::Tensor> weights = weights_of(program, *call, inputs);
    const bool both_ways = constant(*call, "bidirectional", false);
    const int64_t layers = constant<int64_t>(*call, "num_layers", 1);
    const int64_t of_layer = constant(*call, "has_biases", true) ? 4 : 2;  // without projections
    if (static_cast<int64_t>(weights.size()) != of_layer * layers * (both_ways ? 2 : 1)) continue;
    try {
      at::_cudnn_rnn_flatten_weight(weights, of_layer, weights[0].size(1), *mode,
                                    weights[1].size(1), 0, layers,
                                    constant(*call, "batch_first", false), both_ways);
    } catch (const c10::Error&) {  // cuDNN does not have the dtype: the weights stay where they are
    }
  }
}

}  // namespace kw::exec
