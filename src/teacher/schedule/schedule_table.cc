#include "teacher/schedule/schedule_table.h"

#include <algorithm>
#include <cmath>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"
#include "formats/install.h"
#include "teacher/schedule/schedule.h"

namespace kw::teacher {

namespace fs = std::filesystem;

ScheduleTable ScheduleTable::read(const fs::path& path) {
  const std::string text = read_file(path);
  const Json document = parse_json(text, path.string());
  const JsonReader in(document, path.string());
  if (in.at("format").string() != "kernelwright.schedules") {
    in.at("format").fail("not a table of schedules");
  }
  in.at("version").integer(1, 1);
  ScheduleTable out;
  out.device_ = in.at("device").string();
  out.fingerprint_ = sha256_hex(text);
  for (const auto& [family, classes] : in.at("measured").members()) {
    for (const auto& [shape_class, names] : classes.members()) {
      for (const JsonReader& item : names.items()) {
        out.fastest_[{family, shape_class}].push_back(
            {item.at("name").string(), item.at("ratio").number()});
      }
    }
  }
  for (const auto& [family, fit] : in.at("correction").members()) {
    Fit& own = out.fits_[family];
    own.intercept = fit.at("intercept").number();
    own.limit = fit.at("limit").number();
    if (!(own.limit >= 0)) fit.at("limit").fail("is negative");
    for (const auto& [feature, value] : fit.at("coefficients").members()) {
      own.coefficients[feature] = value.number();
    }
  }
  return out;
}

ScheduleTable ScheduleTable::of_device(const fs::path& folder, const DeviceProfile& device) {
  std::vector<DeviceProfile> devices = {device};
  for (DeviceProfile& other : known_profiles()) {
    if (other.arch == device.arch) devices.push_back(std::move(other));
  }
  for (const DeviceProfile& each : devices) {
    std::string name = each.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    const fs::path path = folder / (name + ".json");
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    ScheduleTable out = read(path);
    if (out.device_ == each.name) return out;
    throw InputError(path.string() + ": is the table of " + out.device_ + ", expected " +
                     each.name);
  }
  return {};
}

bool ScheduleTable::serves(const DeviceProfile& device) const {
  if (device_ == device.name) return true;
  const std::vector<DeviceProfile> known = known_profiles();
  return std::any_of(known.begin(), known.end(), [&](const DeviceProfile& profile) {
    return profile.name == device_ && profile.arch == device.arch;
  });
}

std::vector<FastSchedule> ScheduleTable::fastest(const std::string& family,
                                                 const std::string& shape_class) const {
  const auto found = fastest_.find({family, shape_class});
  return found == fastest_.end() ? std::vector<FastSchedule>() : found->second;
}

double ScheduleTable::correction(const Choice& choice, const DeviceProfile& profile) const {
  const auto fit = fits_.find(choice.family);
  if (fit == fits_.end()) return 1;
  double sum = fit->second.intercept;
  for (const auto& [feature, value] : features(choice, profile)) {
    const auto own = fit->second.coefficients.find(feature);
    if (own != fit->second.coefficients.end()) sum += own->second * value;
  }
  return std::exp(std::clamp(sum, -fit->second.limit, fit->second.limit));
}

fs::path default_schedule_folder() { return shipped("schedules"); }

}  // namespace kw::teacher
