// Tasks for another trainer: programs drawn as by `kernelwright synth`, from a recipe's levels and
// windows in turn. Borrows everything; one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policy/chat/prompt.h"
#include "synth/hygiene.h"
#include "train/rl/rl_config.h"

namespace kw::train {

struct VerlTask {
  std::string id;
  int level = 1;
  std::string model;  // the model file
  Prompt prompt;      // the messages for a chat model
};

struct VerlDrawing {
  Examiner& examiner;
  const DeviceProfile& profile;
  bool full_size = false;  // whether tasks are examined at full size; else by their small twins
};

// Draws `count` tasks of a split and calls `take` with each. A seed gives the same tasks, except
// that the examiner's arithmetic decides which are fair. Throws InputError if hundreds in a row are
// not.
void draw_verl_tasks(const RlConfig& config, Split split, size_t count, const VerlDrawing& drawing,
                     const std::function<void(const VerlTask&)>& take);

}  // namespace kw::train
