// Temporary folders that do not outlive the process.
#pragma once

#include <filesystem>
#include <string>

namespace kw {

// Returns the system's folder for temporary files ($TMPDIR, else /tmp). EnvironmentError when it
// cannot be used.
std::filesystem::path temporary_folder();

// A new folder under the system's temporary one; goes with its owner.
class ScratchFolder {
 public:
  // EnvironmentError when it cannot be made.
  explicit ScratchFolder(const std::string& name = "kernelwright");
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Removes those that there are: where the process is to end without their owners.
void remove_scratch_folders();

}  // namespace kw
