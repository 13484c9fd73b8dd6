// A synthesised program as a line of JSON (docs/synthesis.md, "Rows").
#pragma once

#include <string>

#include "synth/program.h"

namespace kw {

std::string synth_row(const SynthProgram& program, const SynthOptions& options, uint64_t index);

}  // namespace kw
