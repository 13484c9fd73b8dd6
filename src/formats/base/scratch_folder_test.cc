#include "formats/base/scratch_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithItsOwnerAndWhatIsInIt) {
  fs::path path;
  {
    const ScratchFolder one("kw-test"), other("kw-test");
    path = one.path();
    EXPECT_NE(path, other.path());
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path / "file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, AllMayBeRemovedBeforeTheirOwners) {
  const ScratchFolder one, other;
  remove_scratch_folders();
  EXPECT_FALSE(fs::exists(one.path()) || fs::exists(other.path()));
}

TEST(ScratchFolder, AFolderThatCannotBeMadeIsTold) {
  EXPECT_THROW(ScratchFolder("no/such/folder"), EnvironmentError);
}

}  // namespace
}  // namespace kw
