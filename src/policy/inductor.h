// The policy `inductor`: what torch.compile writes for a task, as a module that needs nothing of
// its (worker/inductor.py). One answer to a task. It is asked for from the task's text, so that no
// file of a model's is run where there is no sandbox. Any thread.
#pragma once

#include <memory>
#include <string>

#include "policy/policy.h"

namespace kw {

struct InductorOptions {
  // "cuda": configurations are measured, products and convolutions are Triton's. "cpu": nothing is
  // measured, and those are left to PyTorch.
  std::string device = "cuda";
  int at_once = 1;            // tasks that are compiled side by side
  int timeout_seconds = 600;  // of one
};

std::unique_ptr<Policy> make_inductor(const InductorOptions& options);

}  // namespace kw
