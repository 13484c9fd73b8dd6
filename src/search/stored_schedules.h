// The teacher's memory of fast schedules, in the store: what one program taught is there for the
// next one, by family and shape class, for one device and its versions. Any
// thread, while nobody else uses the store.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "store/store.h"
#include "teacher/teacher.h"

namespace kw {

class StoredSchedules : public ScheduleMemory {
 public:
  // `machine`: whatever times depend on besides the schedule (device, torch, triton). Borrows the
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
  std::mutex mutex_;  // of the store
  Store& store_;
  const std::string machine_;
};

}  // namespace kw
