// Which of a graph's schedules are tried, and in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "teacher/family/family.h"
#include "teacher/schedule/schedule_memory.h"

namespace kw::teacher {

// What is known of schedules besides the families' own models of time; and what values are called.
struct Knowledge {
  ScheduleTable table;
  ScheduleMemory* memory = nullptr;
  std::optional<int> first_name;
};

// Corrects the estimates and orders the choices, best first. Schedules that were measured to be
// fast in the shape class come first, those of `memory` before those of `table`; the others follow
// by estimate. A table of another device than the profile's is ignored.
void rank(std::vector<Choice>& choices, const Knowledge& known, const DeviceProfile& profile);

// Keeps the first of ranked choices and then, for the last `share` of `count`, others drawn at
// random. Choices that the estimates find hopeless are not drawn. More than `count` may be left.
void explore(std::vector<Choice>& choices, int count, double share, uint64_t seed);

}  // namespace kw::teacher
