// A record request for a user's model file, with the constants that the user sets.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "worker/jobs.h"

namespace kw {

// Returns the request to record class `cls` of the file at `path`. Each of `settings` is
// NAME=INTEGER and overrides a module-level constant of the file. InputError when the file cannot
// be read, or when a setting names no such constant.
RecordRequest request_for_file(const std::filesystem::path& path, const std::string& cls,
                               const std::vector<std::string>& settings,
                               const DeviceProfile& profile);

}  // namespace kw
