// The name and the kind of a schedule, and numbers that a fitted model of its time may use. They
// are read from the plan's words, so that a family adds nothing but its tiling text. Pure
// functions.
#pragma once

#include <map>
#include <string>

#include "formats/json.h"
#include "teacher/family/family.h"

namespace kw::teacher {

// "persistent, BLOCK_M=4 BLOCK_N=1024" -> {"persistent", {{"BLOCK_M", 4}, {"BLOCK_N", 1024}}}.
struct Tiling {
  std::string kind;
  std::map<std::string, int64_t> blocks;
};
Tiling parse_tiling(const std::string& text);

// Names a schedule among those of one shape class: "persistent, BLOCK_M=4 BLOCK_N=1024; warps: 8".
std::string schedule_name(const Choice& choice);

// By name, each of order 1: indicators of kind and stages; powers of two of blocks, warps, programs
// an SM and elements a thread, with their squares.
std::map<std::string, double> features(const Choice& choice, const DeviceProfile& profile);

// {"family", "class", "name", "model_seconds", "features"}: what a fit needs of one choice;
// model_seconds before any correction.
Json schedule_to_json(const Choice& choice, const DeviceProfile& profile);

}  // namespace kw::teacher
