// Measurements of schedules on one device, as a file (docs/schedules.md). A shape class has the
// schedules that were fastest, a family has a fitted correction of its model of time.
//
// A table is a value; an empty one changes nothing. Any thread may use it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/json.h"
#include "worker/device_profile.h"

namespace kw::teacher {

struct Choice;

// A schedule of a shape class (schedule.h) that was fast there: its time over that of the
// fastest schedule of the same task.
struct FastSchedule {
  std::string name;
  double ratio = 1;
};

class ScheduleTable {
 public:
  ScheduleTable() = default;
  // InputError with the path and the place when the file is missing or is no such table.
  static ScheduleTable read(const std::filesystem::path& path);
  // Returns the table of a device in a folder of tables, or else that of a device of its
  // architecture whose profile is known; empty if there is neither. InputError if there is one that
  // cannot be read, or that is another device's.
  static ScheduleTable of_device(const std::filesystem::path& folder, const DeviceProfile& device);

  // Returns whether it was measured on this device or on one of its architecture.
  bool serves(const DeviceProfile& device) const;
  std::vector<FastSchedule> fastest(const std::string& family,
                                    const std::string& shape_class) const;
  // Returns the factor for the model's estimate of a choice; 1 if nothing was fitted.
  double correction(const Choice& choice, const DeviceProfile& profile) const;
  // Changes with what the table says; empty for an empty table.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  struct Fit {
    double intercept = 0, limit = 0;             // of the logarithm of a correction
    std::map<std::string, double> coefficients;  // by feature
  };
  std::string device_, fingerprint_;
  std::map<std::pair<std::string, std::string>, std::vector<FastSchedule>> fastest_;
  std::map<std::string, Fit> fits_;  // by family
};

// Returns the folder of tables that comes with the program.
std::filesystem::path default_schedule_folder();

}  // namespace kw::teacher
