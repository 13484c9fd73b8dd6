// A task as a line of JSON (docs/synthesis.md, "Rows").
#pragma once

#include <string>

#include "synth/program.h"
#include "synth/task_source.h"

namespace kw {

// "level5-seed1-000042"
std::string synth_id(const SynthOptions& options, uint64_t index);

// Of a program that was not examined (only `index` and `program` are there), without "program",
// "twin" and "hygiene".
std::string synth_row(const SynthTask& task, const SynthOptions& options);

}  // namespace kw
