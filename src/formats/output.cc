#include "formats/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "formats/base/error.h"
#include "formats/base/read_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

bool is_in(const fs::path& path, const fs::path& folder) {
  const fs::path rest = path.lexically_relative(folder);
  return !rest.empty() && *rest.begin() != "..";
}

// The folders that are being made: temporary path -> the path that a caller gave. Messages name
// the given one, as nobody finds the temporary one later.
class FoldersInTheMaking {
 public:
  void add(const fs::path& temporary, const fs::path& given) {
    const std::lock_guard lock(mutex_);
    given_[temporary] = given;
  }
  void remove(const fs::path& temporary) {
    const std::lock_guard lock(mutex_);
    given_.erase(temporary);
  }
  fs::path name(fs::path path) {
    const std::lock_guard lock(mutex_);
    // From the last: a folder that is made within another one has the longer path.
    for (auto each = given_.rbegin(); each != given_.rend(); ++each) {
      const auto& [temporary, given] = *each;
      if (!is_in(path, temporary)) continue;
      path = path == temporary ? given : given / path.lexically_relative(temporary);
    }
    return path;
  }

 private:
  std::mutex mutex_;
  std::map<fs::path, fs::path> given_;
};

FoldersInTheMaking& in_the_making() {
  static FoldersInTheMaking folders;
  return folders;
}

[[noreturn]] void refuse(const fs::path& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  throw EnvironmentError("cannot write " + in_the_making().name(path).string() + ": " +
                         std::strerror(error) + (full ? " (is the disk full?)" : ""));
}

// Where `path` leads: absolute, links followed, without a "/" at its end.
fs::path place_of(const fs::path& path) {
  if (path.empty()) throw InputError("the name of what is to be written is empty");
  std::error_code error;
  fs::path place = fs::absolute(path, error);
  if (!error) place = fs::weakly_canonical(place, error);
  if (error == std::errc::too_many_symbolic_link_levels || error == std::errc::filename_too_long) {
    throw InputError(path.string() + ": " + error.message());
  }
  if (error) refuse(path, error.value());
  return place.has_filename() ? place : place.parent_path();
}

fs::file_type type_of(const fs::path& place) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(place, error).type();
  if (type == fs::file_type::none) refuse(place, error.value());
  // place_of() has followed links, but for those that lead to nothing.
  if (type == fs::file_type::symlink) throw InputError(place.string() + ": is a link to nothing");
  return type;
}

// Whether the file has the text. Files may be larger than memory.
bool contains(const fs::path& file, std::string_view text) {
  std::ifstream in(file, std::ios::binary);
  std::string part(1 << 20, '\0'), seen;
  while (in) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    seen.append(part, 0, static_cast<size_t>(in.gcount()));
    if (seen.find(text) != std::string::npos) return true;
    seen.erase(0, seen.size() - std::min(seen.size(), text.size() - 1));
  }
  return false;
}

// Returns a name in `folder` that no other process chooses at the same time.
fs::path temporary_name(const fs::path& folder) {
  static std::atomic<int> count = 0;
  return folder / (".kernelwright-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
}

// `check_out_file` for a file whose place is known.
void check_file(const fs::path& given, const fs::path& place, const FileKind& kind) {
  std::error_code ignored;
  if (!fs::is_directory(place.parent_path(), ignored)) {
    throw InputError(given.string() + ": there is no folder " + place.parent_path().string());
  }
  const fs::file_type type = type_of(place);
  if (type == fs::file_type::not_found) return;
  if (type != fs::file_type::regular) refuse_type(given, type, "a file");
  if (::access(place.c_str(), W_OK) != 0) refuse(given, errno);
  if (kind.mark.empty() || fs::is_empty(place, ignored) || contains(place, kind.mark)) return;
  throw InputError(given.string() + ": is there, and is no " + std::string(kind.what) +
                   "; choose another name");
}

// Throws InputError where something else than a folder is there. Whether nothing is.
bool is_new(const fs::path& given, const fs::path& place) {
  const fs::file_type type = type_of(place);
  if (type == fs::file_type::not_found || type == fs::file_type::directory) {
    return type == fs::file_type::not_found;
  }
  refuse_type(given, type, "a folder");
}

// Throws InputError unless the folder may be replaced. `temporary`: what is made in it now.
void check_folder(const fs::path& given, const fs::path& place, const FolderKind& kind,
                  const fs::path& temporary = {}) {
  if (is_new(given, place)) return;
  std::error_code gone;
  if (is_in(fs::current_path(gone), place)) {
    throw InputError(given.string() + ": is, or holds, the working folder, which is not replaced");
  }
  if (::access(place.c_str(), W_OK) != 0) refuse(given, errno);
  if (fs::is_empty(place)) return;
  const std::string another = "; choose another --out, new or empty";
  const std::string earlier =
      kind.writes ? " or with an earlier " + std::string(kind.what) + " alone" : "";
  for (const auto& entry : fs::recursive_directory_iterator(place)) {  // follows no links
    if (is_in(entry.path(), temporary)) continue;
    const fs::path inside = entry.path().lexically_relative(place);
    const fs::file_type found = entry.symlink_status().type();
    const bool plain = found == fs::file_type::regular || found == fs::file_type::directory;
    if (plain && kind.writes && kind.writes(inside)) continue;
    throw InputError(given.string() + ": holds other files (" + inside.string() + ")" + another +
                     earlier);
  }
  if (contains(place / kind.file, kind.mark)) return;
  throw InputError(given.string() + ": has no " + std::string(kind.file) + " of a " +
                   std::string(kind.what) + another + earlier);
}

// A new file under a temporary name, with the permissions of the file that it replaces. It is
// removed unless it was put in its place.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& given, const fs::path& place) : given_(given), place_(place) {
    struct stat earlier = {};
    if (::stat(place.c_str(), &earlier) == 0) mode_ = earlier.st_mode & 0777;
    do {
      path_ = temporary_name(place.parent_path());
      file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_.value_or(0666));
    } while (file_ < 0 && errno == EEXIST);
    if (file_ < 0) refuse(given_, errno);
  }
  ~TemporaryFile() {
    if (file_ >= 0) ::close(file_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR) refuse(given_, errno);
      if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  void put() {
    if (mode_ && ::fchmod(file_, *mode_) != 0) refuse(given_, errno);   // all of it: umask
    if (::fsync(file_) != 0 && errno != EINVAL) refuse(given_, errno);  // EINVAL: it knows no sync
    if (::close(std::exchange(file_, -1)) != 0) refuse(given_, errno);
    if (::rename(path_.c_str(), place_.c_str()) != 0) refuse(given_, errno);
    path_.clear();
  }

 private:
  const fs::path &given_, &place_;
  std::optional<mode_t> mode_;  // of the file that is replaced
  fs::path path_;
  int file_ = -1;
};

}  // namespace

void check_out_file(const fs::path& path, const FileKind& kind) {
  check_file(path, place_of(path), kind);
}

void write_file(const fs::path& path, std::string_view bytes, const FileKind& kind) {
  const fs::path place = place_of(path);
  check_file(path, place, kind);
  TemporaryFile file(path, place);
  file.write(bytes);
  file.put();
}

void make_folder(const fs::path& folder) {
  const fs::path place = place_of(folder);
  if (!is_new(folder, place)) return;
  std::error_code refused;
  fs::create_directories(place, refused);
  if (refused == std::errc::not_a_directory) {
    throw InputError(folder.string() + ": is to be in a file, where a folder was expected");
  }
  if (refused) refuse(folder, refused.value());
}

void check_run_folder(const fs::path& folder, const std::string& mark) {
  const fs::path place = place_of(folder);
  if (is_new(folder, place)) return;
  std::error_code ignored;
  if (fs::exists(place / mark, ignored)) return;
  for (const auto& entry : fs::directory_iterator(place)) {
    throw InputError(folder.string() + ": holds other files (" + entry.path().filename().string() +
                     ") and no run to go on with; choose another --out, new or empty");
  }
}

bool is_cut_line(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) {
    return text.starts_with(start) || start.starts_with(text);
  });
}

namespace {

fs::path new_folder_in(const fs::path& folder) {
  fs::path path;
  do {
    path = temporary_name(folder);
  } while (!fs::create_directory(path));
  return path;
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& target, const FolderKind& kind)
    : given_(target), target_(place_of(target)), kind_(kind) {
  try {
    check_folder(given_, target_, kind_);
    make_folder(target_.parent_path());
    const bool only_inside =
        fs::exists(target_) && ::access(target_.parent_path().c_str(), W_OK) != 0;
    path_ = new_folder_in(only_inside ? target_ : target_.parent_path());
    temporary_ = path_;
    in_the_making().add(temporary_, given_);
  } catch (const fs::filesystem_error& error) {
    refuse(given_, error.code().value());
  }
}

void check_out_folder(const fs::path& target, const FolderKind& kind) {
  const OutputFolder probe(target, kind);
}

OutputFolder::~OutputFolder() {
  in_the_making().remove(temporary_);
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void OutputFolder::keep() {
  // What took hours is not lost because it cannot be put in its place.
  const std::string left = "; what was to be there is in " + path_.string();
  try {
    check_folder(given_, target_, kind_, path_);
    if (!fs::exists(target_)) {
      fs::rename(path_, target_);
      path_.clear();
    } else if (is_in(path_, target_) || ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD,
                                                    target_.c_str(), RENAME_EXCHANGE) != 0) {
      fill_target();
    }  // else path_ is now the earlier one
  } catch (const InputError& error) {
    path_.clear();
    throw InputError(error.what() + left);
  } catch (const fs::filesystem_error& error) {
    path_.clear();
    throw EnvironmentError("cannot write " + given_.string() + ": " + error.code().message() +
                           left);
  }
}

// Puts the new files into a folder that cannot be renamed: a mount point, or one in a folder that
// may not be changed. They are copied first, so that a full disk leaves the earlier ones.
void OutputFolder::fill_target() {
  fs::path inside = path_;
  if (!is_in(path_, target_)) {
    inside = new_folder_in(target_);
    fs::copy(path_, inside, fs::copy_options::recursive);
  }
  for (const auto& entry : fs::directory_iterator(target_)) {
    if (entry.path() != inside) fs::remove_all(entry.path());
  }
  for (const auto& entry : fs::directory_iterator(inside)) {
    fs::rename(entry.path(), target_ / entry.path().filename());
  }
  fs::remove(inside);
}

}  // namespace kw
