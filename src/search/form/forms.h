// The forms of a program that are searched: as recorded; its algebra simplified; on a device both
// with the biases of convolutions added apart, and with convolutions in channels-last layout. All
// compute the same; a search takes the steps of a form as they are.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

struct Form {
  Task task;
  std::string name;                  // "" as recorded, "simplified", "channels last", ...
  std::vector<std::string> changes;  // against the recorded program, in plain words

  std::string title() const { return name.empty() ? "as recorded" : name; }  // for users
};

// What a rewritten task is when it is exported and recorded again: strides of all values follow
// from PyTorch's own rules, and the result survives export; `source` stays. nullopt when it does
// not.
using RecordAgain = std::function<std::optional<Task>(const Task& rewritten)>;

// At least the recorded one, which comes first. `layouts`: whether they matter, on a device.
std::vector<Form> forms_of(const Task& recorded, bool layouts, const RecordAgain& record_again);

}  // namespace kw
