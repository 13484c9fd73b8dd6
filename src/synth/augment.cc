#include "synth/augment.h"

#include <algorithm>
#include <cmath>

#include "formats/base/error.h"
#include "ops/dtype.h"
#include "program/cost.h"

namespace kw {
namespace {

constexpr int64_t kSmall = 16;       // kernels, strides, groups
constexpr int64_t kMostOfTwo = 64;   // divisors that are kept
constexpr double kMostFactor = 2.0;  // as a power of two

int64_t drawn_again(int64_t value, Random& random) {
  if (value < 1) return value;
  if (value < kSmall) {
    const int64_t others[] = {value + 1, value * 2, std::max<int64_t>(value - 1, 1),
                              std::max<int64_t>(value / 2, 1)};
    return others[random.below(std::size(others))];
  }
  const double factor = std::exp2((2 * random.uniform() - 1) * kMostFactor);
  const int64_t of_two = std::min(value & -value, kMostOfTwo);
  const int64_t unit = random.below(2) == 0 ? of_two : 1;
  const double units = static_cast<double>(value) * factor / static_cast<double>(unit);
  return std::max<int64_t>(1, std::llround(units)) * unit;
}

std::string text_with(const std::string& original, const std::vector<ModelConstant>& constants) {
  std::string text = original;
  for (const ModelConstant& constant : constants) set_model_constant(text, constant);
  return text;
}

}  // namespace

std::vector<ModelConstant> propose(const std::vector<ModelConstant>& constants, Random& random) {
  std::vector<ModelConstant> proposed = constants;
  const uint64_t at_least = random.below(constants.size());
  for (size_t i = 0; i < proposed.size(); ++i) {
    if (random.below(2) == 0 || i == at_least) {
      proposed[i].value = drawn_again(proposed[i].value, random);
    }
  }
  return proposed;
}

std::string shapes_of(const Task& task) {
  std::string text;
  for (ValueId id : task.forward.inputs) {
    const Value& value = task.forward.values.at(id);
    text += std::string(dtype_name(value.dtype)) + "[";
    for (int64_t size : value.shape) text += std::to_string(size) + ",";
    text += "]";
  }
  return text;
}

Augmenter::Augmenter(AugmentOptions options, Examiner& examiner)
    : options_(std::move(options)),
      examiner_(examiner),
      constants_(model_constants(options_.text)) {
  constexpr int64_t kMost = int64_t{1} << 40;
  std::erase_if(constants_, [](const ModelConstant& constant) {
    return constant.value < 1 || constant.value > kMost;
  });
  if (constants_.empty()) {
    throw InputError(options_.file +
                     ": has no sizes to vary: no module-level line NAME = <integer> from 1 on");
  }
  const Examiner::Examined original =
      examiner_.examine({{options_.file, options_.text, options_.seed, options_.hygiene}}).at(0);
  const Hygiene& hygiene = original.hygiene;
  if (hygiene.flaw != Flaw::kNone) {
    const bool runs = hygiene.flaw != Flaw::kDoesNotRun;
    throw InputError(options_.file + ": " + std::string(runs ? "is no fair task: " : "") +
                     std::string(flaw_name(hygiene.flaw)) + ": " + hygiene.reason +
                     (runs ? " (--no-hygiene takes what runs)" : ""));
  }
  original_shapes_ = shapes_of(original.task);
  const Cost cost = program_cost(original.task.forward);
  most_flops_ = kMostTimes * cost.flops;
  most_bytes_ = kMostTimes * cost.bytes;
}

std::vector<Augmented> Augmenter::next(uint64_t begin, uint64_t most,
                                       std::set<std::string>& shapes) {
  std::vector<Augmented> all(examiner_.at_once());
  std::vector<Examiner::Model> models;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].proposal = begin + i;
    Random random(options_.seed, all[i].proposal);
    all[i].constants = propose(constants_, random);
    all[i].text = text_with(options_.text, all[i].constants);
    models.push_back({options_.file, all[i].text, random.bits(), false});
  }
  const std::vector<Examiner::Examined> recorded = examiner_.examine(models);
  for (size_t i = 0; i < all.size(); ++i) {
    if (most == 0) {
      all.resize(i);
      break;
    }
    Augmented& each = all[i];
    if (recorded[i].hygiene.flaw != Flaw::kNone) {
      each.reason = "does not run: " + recorded[i].hygiene.reason;
      continue;
    }
    const std::string own = shapes_of(recorded[i].task);
    const Cost cost = program_cost(recorded[i].task.forward);
    each.flops = cost.flops;
    if (own == original_shapes_ || shapes.contains(own)) {
      each.reason = "has shapes that are there";
    } else if (cost.flops > most_flops_ || cost.bytes > most_bytes_) {
      each.reason =
          "is larger than " + std::to_string(static_cast<int>(kMostTimes)) + " times the original";
    } else if (options_.hygiene) {
      const Hygiene hygiene = examiner_.examine(recorded[i].task, models[i].seed);
      if (hygiene.flaw != Flaw::kNone) {
        each.reason = std::string(flaw_name(hygiene.flaw)) + ": " + hygiene.reason;
      }
    }
    if (!each.reason.empty()) continue;
    each.task = recorded[i].task;
    shapes.insert(own);
    --most;
  }
  return all;
}

}  // namespace kw
