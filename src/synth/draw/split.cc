#include "synth/draw/split.h"

#include <array>
#include <string>

#include "formats/base/error.h"
#include "formats/base/sha256.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"train", "validation", "test", "unseen"};

// Below 100, and as good as random.
unsigned percentile(const std::string& sha256) {
  return static_cast<unsigned>(std::stoull(sha256.substr(0, 12), nullptr, 16) % 100);
}

}  // namespace

std::string_view split_name(Split split) { return kNames.at(static_cast<size_t>(split)); }

Split parse_split(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Split>(i);
  }
  throw InputError("there is no split " + std::string(name));
}

bool is_held_out(const SynthOperator& first, const SynthOperator& second) {
  return percentile(sha256_hex("held out: " + std::string(first.name) + ", " +
                               std::string(second.name))) < 5;
}

Split split_of(const Skeleton& skeleton) {
  static const std::vector<std::vector<bool>> held_out = [] {
    std::vector<std::vector<bool>> table;
    for (const SynthOperator& first : synth_operators()) {
      table.emplace_back();
      for (const SynthOperator& second : synth_operators()) {
        table.back().push_back(is_held_out(first, second));
      }
    }
    return table;
  }();
  const auto place = [](const SynthOperator* op) { return op - synth_operators().data(); };
  for (const SynthStep& step : skeleton) {
    for (const Operand& operand : step.operands) {
      if (operand.step >= 0 && held_out[place(skeleton[operand.step].op)][place(step.op)]) {
        return Split::kUnseen;
      }
    }
  }
  const unsigned at = percentile(structure_hash(skeleton));
  return at < 5 ? Split::kTest : at < 10 ? Split::kValidation : Split::kTrain;
}

std::string structure_hash(const Skeleton& skeleton) {
  std::string text;
  for (const SynthStep& step : skeleton) {
    text += "\n" + std::string(step.op->name);
    for (const Operand& operand : step.operands) {
      text += " " + std::to_string(operand.step) + ":" + std::to_string(operand.rank) + ":" +
              std::to_string(operand.mask);
    }
    const Parameters& p = *step.parameters;
    for (int value :
         {p.dim, p.dim1, int{p.keepdim}, p.kernel, p.stride, p.padding, p.dilation,
          p.output_padding, p.groups, p.normalized, p.diagonal, int{p.affine}, int{p.training}}) {
      text += "," + std::to_string(value);
    }
    // Named where they are not what most calls have: hashes do not change with new operators.
    const auto named = [&](std::string_view name, int value, int usual) {
      if (value != usual) text += "," + std::string(name) + "=" + std::to_string(value);
    };
    named("size", p.size, 0);
    named("scale", p.scale, 1);
    named("before", p.before, 0);
    named("after", p.after, 0);
    named("index_rank", p.index_rank, 0);
    for (int dim : p.order) named("order", dim, 0);
    for (std::string_view value : p.chosen) text += "," + std::string(value);
  }
  return sha256_hex(text);
}

}  // namespace kw
