// A record request for a user's model file, with the constants that the user sets, and the modules
// that lie where such a file can import them.
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

// Returns the outermost folder of the package that `folder` is in, or `folder` itself: what a
// record job may read (worker/loading.py has the same rule).
std::filesystem::path package_root(const std::filesystem::path& folder);

// Returns a hash of the modules that a file with this text may import from its folder; empty if
// there are none. Of a package these are all modules. Of another folder they are those whose names
// the text has, and the modules whose names these have. So files that lie in one folder and have
// nothing to do with each other do not count.
std::string modules_digest(const std::string& text, const std::filesystem::path& folder);

}  // namespace kw
