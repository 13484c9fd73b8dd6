// Which modules of a folder a file may import, and what changes their digest.
#include "worker/model_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace kw {
namespace {

namespace fs = std::filesystem;

class UserModules : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "kw-user-modules";
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  // Whether a file of this text in `folder` has another digest once `path` has another text.
  bool depends(const std::string& text, const std::string& folder, const std::string& path) {
    const std::string before = modules_digest(text, root_ / folder);
    put(path, "other = " + std::to_string(++changes_));
    return modules_digest(text, root_ / folder) != before;
  }

  fs::path root_;
  int changes_ = 0;
};

TEST_F(UserModules, ARootIsTheOutermostFolderOfThePackage) {
  for (const char* folder : {"lib", "lib/ops", "lib/ops/deep"}) {
    put(std::string(folder) + "/__init__.py", "");
  }
  put("plain/file.py", "");
  put("plain/inner/__init__.py", "");
  EXPECT_EQ(package_root(root_ / "lib/ops/deep"), root_ / "lib");
  EXPECT_EQ(package_root(root_ / "lib/ops/deep/"), root_ / "lib");
  EXPECT_EQ(package_root(root_ / "lib/ops/../ops"), root_ / "lib");
  EXPECT_EQ(package_root(root_ / "lib"), root_ / "lib");
  EXPECT_EQ(package_root(root_ / "plain"), root_ / "plain");
  EXPECT_EQ(package_root(root_ / "plain/inner"), root_ / "plain/inner");
  EXPECT_EQ(package_root(root_ / "nowhere"), root_ / "nowhere");
  EXPECT_EQ(package_root("/"), "/");
}

TEST_F(UserModules, OfAPackageAllCount) {
  put("lib/__init__.py", "");
  put("lib/ops/__init__.py", "");
  EXPECT_TRUE(depends("from .. import x", "lib/ops", "lib/other/deep/module.py"));
  EXPECT_TRUE(depends("from .. import x", "lib/ops", "lib/__init__.py"));
  EXPECT_FALSE(depends("from .. import x", "lib/ops", "beside.py"));
  EXPECT_FALSE(depends("from .. import x", "lib/ops", "lib/notes.txt"));
}

TEST_F(UserModules, OfAFolderThoseCountThatAreNamed) {
  EXPECT_EQ(modules_digest("import torch", root_), "");
  EXPECT_TRUE(depends("import helpers", "", "helpers.py"));
  EXPECT_TRUE(depends("import helpers", "", "helpers.py"));
  EXPECT_TRUE(depends("importlib.import_module('helpers')", "", "helpers.py"));
  EXPECT_TRUE(depends("from lib.ops import f", "", "lib/ops/deep.py"));
  EXPECT_FALSE(depends("import helpers", "", "others.py"));
  put("helpers.py", "from others import g");
  EXPECT_TRUE(depends("import helpers", "", "others.py"));
  put("others.py", "import helpers");  // in a circle
  EXPECT_FALSE(depends("import helpers", "", "17.py"));
  fs::remove(root_ / "helpers.py");
  EXPECT_EQ(modules_digest("import helpers", root_), "");
}

TEST_F(UserModules, WhatCannotBeReadHasADigestToo) {
  ::mkfifo((root_ / "helpers.py").c_str(), 0600);
  EXPECT_NE(modules_digest("import helpers", root_), "");
  fs::create_directory(root_ / "folder.py");
  EXPECT_NE(modules_digest("import folder", root_), "");
  fs::create_directory_symlink(root_, root_ / "loop");
  put("__init__.py", "");
  EXPECT_NE(modules_digest("import loop", root_), "");
  EXPECT_EQ(modules_digest("import helpers", root_ / "nowhere"), "");
}

}  // namespace
}  // namespace kw
