// Keeps the teacher's fast schedules in the store, by family and shape class, for one device and
// its versions. So a program profits from what was learned on others. Any thread may use it, while
// no other code uses the store.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "store/store.h"
#include "teacher/teacher.h"

namespace kw {

class StoredSchedules : public ScheduleMemory {
 public:
  // `machine` is what times depend on besides the schedule: device, torch, triton. Borrows the
  // store.
  StoredSchedules(Store& store, const Json& machine);

  std::vector<teacher::FastSchedule> fastest(const std::string& family,
                                             const std::string& shape_class) override;
  // Newer ratios replace older ones; the few best are kept.
  void learn(const std::string& family, const std::string& shape_class,
             const std::vector<teacher::FastSchedule>& measured) override;

 private:
  std::string key(const std::string& family, const std::string& shape_class) const;
  std::vector<teacher::FastSchedule> read(const std::string& key) const;
  std::mutex mutex_;  // guards the store
  Store& store_;
  const std::string machine_;
};

}  // namespace kw
