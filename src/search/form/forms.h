// The forms of a program that are searched: the program as recorded, and with its algebra
// simplified. On a device each of them also has a form with separately added biases of
// convolutions, and one with convolutions in channels-last layout. All forms compute the same; a
// search takes the steps of a form as they are.
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
  std::vector<std::string> changes;  // from the recorded program, in plain words

  std::string title() const { return name.empty() ? "as recorded" : name; }  // for users
};

// Exports a rewritten task and records it again, so that strides of all values follow PyTorch's own
// rules; `source` stays. Returns nullopt if the task does not survive this.
using RecordAgain = std::function<std::optional<Task>(const Task& rewritten)>;

// Returns the forms of a task, the recorded one first. `layouts` says whether layouts matter, as
// they do on a device.
std::vector<Form> forms_of(const Task& recorded, bool layouts, const RecordAgain& record_again);

}  // namespace kw
