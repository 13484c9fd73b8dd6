// kernelwright verify --batch FILE.jsonl
#pragma once

#include <string>

#include "cli/support/common.h"

namespace kw {

struct BatchFlags {
  std::string file, out;  // empty out: FILE.results.jsonl
  int jobs = 0;           // 0: one for each core
  bool sanitize = false;  // run what is accepted under compute-sanitizer
};

// Judges what the results do not hold yet. The command's exit code.
int run_batch(const BatchFlags& flags, const MachineFlags& machine_flags, VerifyOptions options,
              const std::string& settings);

}  // namespace kw
