// The PyTorch text of synthesised programs.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "synth/draw/drawn_program.h"

namespace kw {
namespace {

bool is_input(Role role) { return role == Role::kInput || role == Role::kIndex; }

class Writer {
 public:
  // With `members`, parameters and buffers are attributes of self; else all tensors are arguments.
  Writer(const SynthProgram& program, bool members)
      : program_(program), members_(members), names_(tensor_names(program)) {}

  bool is_member(size_t tensor) const {
    const int fresh = program_.shaped.fresh_of[tensor];
    return fresh >= 0 && !is_input(program_.shaped.fresh[fresh].role);
  }

  std::string arguments() const {
    std::string text;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (program_.shaped.fresh_of[i] < 0 || (members_ && is_member(i))) continue;
      text += (text.empty() ? "" : ", ") + names_[i];
    }
    return text;
  }

  std::string body(const std::string& indent) const;
  std::string constructor() const;
  std::string inputs(bool all) const;

 private:
  std::string name(int tensor) const {
    return (members_ && is_member(tensor) ? "self." : "") + names_[tensor];
  }
  std::string call(size_t step) const;
  std::string own(size_t step, Role role) const;
  std::string making(size_t tensor) const;

  const SynthProgram& program_;
  const bool members_;
  std::vector<std::string> names_;
};

std::string sizes_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

// What a step's own tensor of this role is called; None where it has none.
std::string Writer::own(size_t step, Role role) const {
  const ShapedSkeleton& shaped = program_.shaped;
  const auto& operands = shaped.steps[step].operands;
  for (size_t i = program_.skeleton[step].operands.size(); i < operands.size(); ++i) {
    if (shaped.fresh[shaped.fresh_of[operands[i]]].role == role) return name(operands[i]);
  }
  return "None";
}

std::string Writer::call(size_t step) const {
  const SynthStep& made = program_.skeleton[step];
  const auto& operands = program_.shaped.steps[step].operands;
  std::string text;
  std::string_view rest = made.op->call;
  while (!rest.empty()) {
    const size_t open = rest.find('{');
    text += rest.substr(0, open);
    if (open == rest.npos) break;
    const size_t close = rest.find('}', open);
    const std::string_view key = rest.substr(open + 1, close - open - 1);
    rest.remove_prefix(close + 1);
    if (key == "0" || key == "1") {
      text += name(operands[key[0] - '0']);
    } else if (key == "bias") {
      text += own(step, Role::kBias);
    } else if (key == "index") {
      text += own(step, Role::kIndex);
    } else if (key == "mean") {
      text += own(step, Role::kRunningMean);
    } else if (key == "var") {
      text += own(step, Role::kRunningVar);
    } else if (const std::string value = parameter_text(*made.op, *made.parameters, key);
               !value.empty()) {
      text += value;
    } else if (key == "weight") {
      text += own(step, Role::kScale);
    } else if (key == "shape") {
      const std::vector<int64_t>& shape = program_.shapes[operands[0]];
      text += "[" + sizes_text({shape.end() - made.parameters->normalized, shape.end()}) + "]";
    }
  }
  return text;
}

std::string Writer::body(const std::string& indent) const {
  std::vector<bool> read(program_.skeleton.size());
  std::string text, results;
  for (size_t i = 0; i < program_.skeleton.size(); ++i) {
    for (const Operand& operand : program_.skeleton[i].operands) {
      if (operand.step >= 0) read[operand.step] = true;
    }
    text += indent + names_[program_.shaped.steps[i].result] + " = " + call(i) + "\n";
  }
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i]) continue;
    results += (results.empty() ? "" : ", ") + names_[program_.shaped.steps[i].result];
  }
  return text + indent + "return " + results + "\n";
}

// In each result of a product or convolution with a weight of this shape.
double products_added(const SynthStep& step, const std::vector<int64_t>& weight) {
  const Parameters& parameters = *step.parameters;
  const bool last = step.op->domain == Domain::kLinear || step.op->domain == Domain::kMatVec;
  if (last) return static_cast<double>(weight.back());
  if (step.op->spatial == 0) return static_cast<double>(weight[weight.size() - 2]);
  const double taps = std::pow(parameters.kernel, step.op->spatial);
  if (step.op->domain == Domain::kConv) return static_cast<double>(weight[1]) * taps;
  // As many taps meet an element of the result as steps of a stride do.
  const double met = std::max(1.0, taps / std::pow(parameters.stride, step.op->spatial));
  return static_cast<double>(weight[0]) / parameters.groups * met;
}

// Of inputs a normal distribution; weights are scaled so that a sum over them keeps the scale.
std::string Writer::making(size_t tensor) const {
  const NewTensor& made = program_.shaped.fresh[program_.shaped.fresh_of[tensor]];
  std::string dtype;
  if (program_.dtype != DType::kFloat32) {
    dtype = program_.dtype == DType::kFloat16 ? ", dtype=torch.float16" : ", dtype=torch.bfloat16";
  }
  const std::string sizes = sizes_text(program_.shapes[tensor]) + dtype;
  switch (made.role) {
    case Role::kInput:
      return "torch.randn(" + sizes + ")";
    case Role::kWeight: {
      const double sum = products_added(program_.skeleton[made.step], program_.shapes[tensor]);
      char scale[32];
      std::snprintf(scale, sizeof scale, "%.6g", 1 / std::sqrt(sum));
      return scale + (" * torch.randn(" + sizes) + ")";
    }
    case Role::kIndex: {
      const int from = program_.shaped.steps[made.step].operands[0];
      return "torch.randint(" + std::to_string(program_.shapes[from][made.indexed]) + ", [" +
             sizes_text(program_.shapes[tensor]) + "])";
    }
    case Role::kScale:
    case Role::kRunningVar:
      return "0.5 + torch.rand(" + sizes + ")";
    case Role::kBias:
    case Role::kRunningMean:
      return "0.1 * torch.randn(" + sizes + ")";
  }
  return {};
}

std::string Writer::constructor() const {
  std::string text;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!is_member(i)) continue;
    const Role role = program_.shaped.fresh[program_.shaped.fresh_of[i]].role;
    if (role == Role::kRunningMean || role == Role::kRunningVar) {
      text += "        self.register_buffer(\"" + names_[i] + "\", " + making(i) + ")\n";
    } else {
      text += "        self." + names_[i] + " = nn.Parameter(" + making(i) + ")\n";
    }
  }
  return text;
}

std::string Writer::inputs(bool all) const {
  std::string text;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (program_.shaped.fresh_of[i] < 0 || (!all && is_member(i))) continue;
    text += (text.empty() ? "" : ",\n            ") + making(i);
  }
  return text;
}

}  // namespace

std::vector<std::string> tensor_names(const SynthProgram& program) {
  const ShapedSkeleton& shaped = program.shaped;
  std::vector<std::string> names;
  int inputs = 0, weights = 0, results = 0;
  for (int fresh : shaped.fresh_of) {
    if (fresh < 0) {
      names.push_back("t" + std::to_string(results++));
    } else if (is_input(shaped.fresh[fresh].role)) {
      names.push_back("x" + std::to_string(inputs++));
    } else {
      names.push_back("w" + std::to_string(weights++));
    }
  }
  return names;
}

std::string model_text(const SynthProgram& program) {
  const Writer writer(program, true);
  std::string constructor = writer.constructor();
  if (!constructor.empty()) {
    constructor = "    def __init__(self):\n        super().__init__()\n" + constructor + "\n";
  }
  return "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
         "class Model(nn.Module):\n" +
         constructor + "    def forward(self, " + writer.arguments() + "):\n" +
         writer.body("        ") + "\n\ndef get_inputs():\n    return [" + writer.inputs(false) +
         "]\n\n\ndef get_init_inputs():\n    return []\n";
}

std::string fused_operator_text(const SynthProgram& program) {
  const Writer writer(program, false);
  return "import torch\nimport torch.nn.functional as F\n\n\ndef fused_operator(" +
         writer.arguments() + "):\n" + writer.body("    ") + "\n\ndef get_inputs():\n    return [" +
         writer.inputs(true) + "]\n";
}

}  // namespace kw
