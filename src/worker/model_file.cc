#include "worker/model_file.h"

#include <regex>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/model_constants.h"

namespace kw {
namespace {

// Applies NAME=INTEGER to a model file's text, so that records, baselines and optimized.py, which
// are made of the text afterwards, agree on it.
void override_constant(std::string& text, const std::string& item, const std::string& file) {
  static const std::regex kItem("([A-Za-z_][A-Za-z0-9_]*)=(-?[0-9]{1,18})");
  std::smatch wanted;
  if (!std::regex_match(item, wanted, kItem)) {
    throw InputError("--set " + item + ": expected NAME=INTEGER");
  }
  if (set_model_constant(text, {wanted.str(1), std::stoll(wanted.str(2))})) return;
  std::string names;
  for (const ModelConstant& constant : model_constants(text)) {
    names += (names.empty() ? "" : ", ") + constant.name;
  }
  throw InputError("--set " + item + ": " + file + " has no module-level line `" + wanted.str(1) +
                   " = <integer>`" + (names.empty() ? "" : " (it has " + names + ")"));
}

}  // namespace

RecordRequest request_for_file(const std::filesystem::path& path, const std::string& cls,
                               const std::vector<std::string>& settings,
                               const DeviceProfile& profile) {
  RecordRequest request;
  request.text = read_file(path, kMostSource);
  if (request.text.starts_with("\xEF\xBB\xBF")) request.text.erase(0, 3);  // a byte order mark
  request.file = path.string();
  request.folder = std::filesystem::absolute(path).parent_path();
  request.cls = cls;
  for (const std::string& each : settings) override_constant(request.text, each, request.file);
  request.profile = profile;
  return request;
}

}  // namespace kw
