#include "formats/base/exit_code.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <new>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

Failure of_path(std::errc code) {
  return failure_of(fs::filesystem_error("stat", "a/b", std::make_error_code(code)));
}

TEST(ExitCode, TellsWhoseFaultAFailureIs) {
  EXPECT_EQ(failure_of(InputError("x.py: no Model")).code, 2);
  EXPECT_EQ(failure_of(InputError("x.py: no Model")).message, "x.py: no Model");
  EXPECT_EQ(failure_of(EnvironmentError("no GPU")).code, 3);
  EXPECT_EQ(of_path(std::errc::filename_too_long).code, 2);
  EXPECT_EQ(of_path(std::errc::permission_denied).code, 3);
  EXPECT_EQ(of_path(std::errc::permission_denied).message, "a/b: Permission denied");
  EXPECT_EQ(failure_of(std::bad_alloc()).message, "out of memory");
  EXPECT_EQ(failure_of(std::logic_error("x")).code, 3);
  EXPECT_EQ(failure_of(std::logic_error("x")).message, "internal error: x");
}

TEST(ExitCode, AWorkingFolderThatIsGoneIsTold) {
  check_folders();
  const fs::path before = fs::current_path();
  {
    const ScratchFolder folder;
    fs::current_path(folder.path());
  }
  EXPECT_THROW(check_folders(), EnvironmentError);
  fs::current_path(before);
}

TEST(ExitCode, ATemporaryFolderThatIsGoneIsTold) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_THROW(check_folders(), EnvironmentError);
  EXPECT_THROW(ScratchFolder(), EnvironmentError);
  before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  check_folders();
}

}  // namespace
}  // namespace kw
