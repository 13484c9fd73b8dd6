#include "search/stored_schedules.h"

#include <algorithm>

#include "formats/base/error.h"
#include "formats/base/sha256.h"

namespace kw {

using teacher::FastSchedule;

StoredSchedules::StoredSchedules(Store& store, const Json& machine)
    : store_(store), machine_(machine.dump()) {}

std::string StoredSchedules::key(const std::string& family, const std::string& shape_class) const {
  return "schedules/" + sha256_hex(Json{machine_, family, shape_class}.dump());
}

std::vector<FastSchedule> StoredSchedules::fastest(const std::string& family,
                                                   const std::string& shape_class) {
  const std::lock_guard lock(mutex_);
  return read(key(family, shape_class));
}

std::vector<FastSchedule> StoredSchedules::read(const std::string& key) const {
  const auto stored = store_.get(key);
  std::vector<FastSchedule> out;
  if (!stored) return out;
  try {
    for (const JsonReader& item : JsonReader(*stored, "store").items()) {
      out.push_back({item.at("name").string(), item.at("ratio").number()});
    }
  } catch (const InputError&) {
    out.clear();  // the entry is damaged or of another version: learn again
  }
  return out;
}

void StoredSchedules::learn(const std::string& family, const std::string& shape_class,
                            const std::vector<FastSchedule>& measured) {
  constexpr size_t kKept = 4;
  const std::lock_guard lock(mutex_);
  const std::string where = key(family, shape_class);
  std::vector<FastSchedule> all = measured;
  for (const FastSchedule& old : read(where)) {
    const bool newer = std::any_of(measured.begin(), measured.end(),
                                   [&](const FastSchedule& m) { return m.name == old.name; });
    if (!newer) all.push_back(old);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const FastSchedule& a, const FastSchedule& b) { return a.ratio < b.ratio; });
  if (all.size() > kKept) all.resize(kKept);
  Json list = Json::array();
  for (const FastSchedule& fast : all) list.push_back({{"name", fast.name}, {"ratio", fast.ratio}});
  store_.put(where, list);
}

}  // namespace kw
