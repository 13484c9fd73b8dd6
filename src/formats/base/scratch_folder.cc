#include "formats/base/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "formats/base/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct Folders {
  std::mutex mutex;
  std::set<fs::path> there;
};

Folders& folders() {
  static auto* const all = new Folders;  // for owners that end after everything static
  return *all;
}

}  // namespace

fs::path temporary_folder() {
  std::error_code none;
  fs::path folder = fs::temp_directory_path(none);
  if (none) throw EnvironmentError("TMPDIR is no folder that can be used: " + none.message());
  return folder;
}

ScratchFolder::ScratchFolder(const std::string& name) {
  std::string pattern = (temporary_folder() / (name + "-XXXXXX")).string();
  const std::lock_guard lock(folders().mutex);
  if (!::mkdtemp(pattern.data())) {
    throw EnvironmentError(pattern + ": cannot be made: " + std::strerror(errno));
  }
  path_ = pattern;
  folders().there.insert(path_);
}

ScratchFolder::~ScratchFolder() {
  const std::lock_guard lock(folders().mutex);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  folders().there.erase(path_);
}

void remove_scratch_folders() {
  const std::lock_guard lock(folders().mutex);
  std::error_code ignored;
  for (const fs::path& folder : folders().there) fs::remove_all(folder, ignored);
}

}  // namespace kw
