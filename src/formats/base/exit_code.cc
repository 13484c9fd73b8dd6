#include "formats/base/exit_code.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

// What a user's own path can be at fault for; the rest is the disk's doing.
bool is_of_path(const std::error_code& code) {
  return code == std::errc::filename_too_long || code == std::errc::not_a_directory ||
         code == std::errc::too_many_symbolic_link_levels;
}

}  // namespace

Failure failure_of(const std::exception& error) {
  if (dynamic_cast<const InputError*>(&error)) return {kUsersMistake, error.what()};
  if (dynamic_cast<const EnvironmentError*>(&error)) return {kMachinesFault, error.what()};
  if (const auto* disk = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return {is_of_path(disk->code()) ? kUsersMistake : kMachinesFault,
            disk->path1().string() + ": " + disk->code().message()};
  }
  if (dynamic_cast<const std::bad_alloc*>(&error)) return {kMachinesFault, "out of memory"};
  return {kMachinesFault, std::string("internal error: ") + error.what()};
}

void open_standard_streams() {
  const bool closed = ::fcntl(STDOUT_FILENO, F_GETFD) < 0;
  int file = 0;
  do {
    file = ::open("/dev/null", O_RDWR);
  } while (0 <= file && file <= STDERR_FILENO);
  if (file > STDERR_FILENO) ::close(file);
  if (closed)
    throw EnvironmentError("the standard output is closed; what is printed would be lost");
}

void check_folders() {
  std::error_code gone;
  (void)std::filesystem::current_path(gone);
  if (gone) {
    throw EnvironmentError("the working folder cannot be used: " + gone.message() +
                           "; change to one that is there");
  }
  temporary_folder();
}

void flush_stdout() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return;
  throw EnvironmentError(
      "cannot write to the standard output (is its disk full, or its reader gone?)");
}

}  // namespace kw
