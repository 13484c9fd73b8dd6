// The policy `inductor`: the code that torch.compile writes for a task, as a module that does not
// need torch.compile (worker/inductor.py). It gives one answer to a task. It works from the task's
// text, so that no model's file runs outside a sandbox. Any thread.
#pragma once

#include <memory>
#include <string>

#include "policy/policy.h"

namespace kw {

struct InductorOptions {
  // "cuda": configurations are measured, and products and convolutions are in Triton. "cpu":
  // nothing is measured, and products and convolutions are left to PyTorch.
  std::string device = "cuda";
  int at_once = 1;            // tasks compiled side by side
  int timeout_seconds = 600;  // for one task
};

std::unique_ptr<Policy> make_inductor(const InductorOptions& options);

}  // namespace kw
