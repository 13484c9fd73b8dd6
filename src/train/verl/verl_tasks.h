// Tasks for a trainer elsewhere: programs drawn as `kernelwright synth` draws them, of a recipe's
// levels and windows in turn. Borrows everything; one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policy/chat/prompt.h"
#include "synth/hygiene.h"
#include "train/rl/rl_config.h"

namespace kw {

struct VerlTask {
  std::string id;
  int level = 1;
  std::string model;  // the model file
  Prompt prompt;      // as a chat model is asked
};

struct VerlDrawing {
  Examiner& examiner;
  const DeviceProfile& profile;
  bool full_size = false;  // tasks are examined at full size; else by their twins
};

// Hands `count` tasks of a split to `take`. The same seed gives the same tasks, but for what an
// examiner's arithmetic finds fair. InputError where hundreds in a row are no tasks.
void draw_verl_tasks(const RlConfig& config, Split split, size_t count, const VerlDrawing& drawing,
                     const std::function<void(const VerlTask&)>& take);

}  // namespace kw
