// kernelwright synth --augment MODEL.py --out TASKS.jsonl
#pragma once

#include <cstdint>
#include <string>

#include "cli/support/common.h"

namespace kw {

// Writes so many tasks, which are the model in other sizes, and goes on with a file that a killed
// run left; the exit code. InputError where the model has no sizes, is no fair task, or gives none.
int synth_augment(const std::string& model, const std::string& out, uint64_t count, uint64_t seed,
                  bool hygiene, const MachineFlags& machine);

}  // namespace kw
