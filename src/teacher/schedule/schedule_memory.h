// What a run learns about schedules and a later run, or a later fragment, makes use of.
#pragma once

#include <string>
#include <vector>

#include "teacher/schedule/schedule_table.h"

namespace kw {

// Remembers which schedules were fast on this device, from one task to the next.
class ScheduleMemory {
 public:
  virtual ~ScheduleMemory() = default;
  virtual std::vector<teacher::FastSchedule> fastest(const std::string& family,
                                                     const std::string& shape_class) = 0;
  virtual void learn(const std::string& family, const std::string& shape_class,
                     const std::vector<teacher::FastSchedule>& measured) = 0;
};

}  // namespace kw
