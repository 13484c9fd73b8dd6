#include "formats/output.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

bool is_in_pair(const fs::path& inside) {
  return inside == "a" || inside == "b" || inside == "b/c.txt";
}
constexpr FolderKind kPair = {"pair", "a", "made by a test", is_in_pair};
constexpr FileKind kNote = {"note", "# note"};

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Output : public testing::Test {
 protected:
  // Every path below the folder, links included, with what is in it.
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      const std::string name = entry.path().lexically_relative(path_).string();
      out[name] = entry.is_symlink()        ? "link to " + fs::read_symlink(entry.path()).string()
                  : entry.is_regular_file() ? text_of(entry.path())
                                            : "";
    }
    return out;
  }
  // What is said against writing there, of both kinds; nothing is changed meanwhile.
  std::string refusal_of_file(const fs::path& path, const FileKind& kind = {}) const {
    return refusal([&] { write_file(path, "# note: new", kind); });
  }
  std::string refusal_of_folder(const fs::path& path, const FolderKind& kind = kPair) const {
    return refusal([&] { write_pair(path, kind); });
  }
  static void write_pair(const fs::path& path, const FolderKind& kind = kPair) {
    OutputFolder out(path, kind);
    make_folder(out.path() / "b");
    write_file(out.path() / "a", "made by a test");
    write_file(out.path() / "b" / "c.txt", "new");
    out.keep();
  }

  const ScratchFolder scratch_{"kw-output-test"};
  const fs::path& path_ = scratch_.path();

 private:
  template <class Write>
  std::string refusal(const Write& write) const {
    const auto before = all();
    std::string said;
    try {
      write();
    } catch (const InputError& error) {
      said = error.what();
    }
    EXPECT_EQ(all(), before);
    return said;
  }
};

TEST_F(Output, AFileIsWrittenAndReplaced) {
  write_file(path_ / "x", "one");
  EXPECT_EQ(text_of(path_ / "x"), "one");
  write_file(path_ / "x", "two");
  EXPECT_EQ(all(), (std::map<std::string, std::string>{{"x", "two"}}));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(static_cast<mode_t>(fs::status(path_ / "x").permissions()), 0666 & ~mask);
}

TEST_F(Output, AFileKeepsItsPermissions) {
  put(path_ / "x", "old");
  for (const mode_t mode : {0600, 0666, 0640}) {  // fewer and more than the mask leaves
    ASSERT_EQ(::chmod((path_ / "x").c_str(), mode), 0);
    write_file(path_ / "x", "new");
    EXPECT_EQ(static_cast<mode_t>(fs::status(path_ / "x").permissions()), mode);
  }
}

TEST_F(Output, AFileThatMayNotBeWrittenStays) {
  put(path_ / "x", "mine");
  fs::permissions(path_, fs::perms::all);
  fs::permissions(path_ / "x", fs::perms::owner_read | fs::perms::others_read);
  const auto write = [&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);  // root may write any file
    try {
      write_file(path_ / "x", "new");
    } catch (const EnvironmentError& error) {
      std::fputs(error.what(), stderr);
      ::_exit(3);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(write(), testing::ExitedWithCode(3), "cannot write .*/x: Permission denied");
  EXPECT_EQ(text_of(path_ / "x"), "mine");
}

TEST_F(Output, AFileOfAnotherKindStays) {
  put(path_ / "mine.txt", "mine");
  EXPECT_NE(refusal_of_file(path_ / "mine.txt", kNote).find("is no note"), std::string::npos);
  put(path_ / "empty", "");
  write_file(path_ / "empty", "# note: one", kNote);
  write_file(path_ / "empty", "# note: two", kNote);
  EXPECT_EQ(text_of(path_ / "empty"), "# note: two");
}

TEST_F(Output, TheMarkMayBeAnywhereInAFile) {
  const size_t part = 1 << 20;  // what is read at once
  for (const size_t before : {size_t{0}, part - 3, part, 2 * part + 5}) {
    put(path_ / "x", std::string(before, '-') + "# note" + std::string(9, '-'));
    write_file(path_ / "x", "# note", kNote);
    EXPECT_EQ(text_of(path_ / "x"), "# note");
  }
}

TEST_F(Output, WhatIsNoFileIsNamed) {
  fs::create_directory(path_ / "folder");
  ASSERT_EQ(::mkfifo((path_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", path_ / "null");
  fs::create_symlink("gone", path_ / "dangling");
  fs::create_symlink("loop", path_ / "loop");
  const auto says = [&](const fs::path& path, const std::string& what) {
    EXPECT_NE(refusal_of_file(path).find(what), std::string::npos) << refusal_of_file(path);
  };
  says(path_ / "folder", "is a folder, where a file was expected");
  says(path_ / "fifo", "is a FIFO");
  says(path_ / "null", "is a device");
  says("/dev/full", "is a device");
  says(path_ / "dangling", "is a link to nothing");
  says(path_ / "loop", "symbolic links");
  says(path_ / "nowhere" / "x", "there is no folder " + (path_ / "nowhere").string());
  says("", "is empty");
  put(path_ / "file", "mine");
  says(path_ / "file" / "x", "there is no folder " + (path_ / "file").string());
}

TEST_F(Output, ALinkToAFileStaysALink) {
  put(path_ / "x", "old");
  fs::create_symlink("x", path_ / "link");
  write_file(path_ / "link", "new");
  EXPECT_EQ(all(), (std::map<std::string, std::string>{{"x", "new"}, {"link", "link to x"}}));
}

TEST_F(Output, AFullDiskIsTheMachinesFault) {
  EXPECT_THROW(write_file("/proc/kernelwright", "x"), EnvironmentError);
  EXPECT_THROW(write_pair("/proc/kernelwright"), EnvironmentError);
  EXPECT_THROW(make_folder("/proc/kernelwright"), EnvironmentError);
}

TEST_F(Output, AMessageNamesTheFolderThatWasAskedFor) {
  const OutputFolder out(path_ / "x", kPair);
  const OutputFolder inner(out.path() / "inner", kPair);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit usual = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small = {4, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    write_file(inner.path() / "a", "more than four bytes");
  } catch (const EnvironmentError& error) {
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  EXPECT_EQ(message, "cannot write " + (path_ / "x/inner/a").string() + ": File too large");
}

TEST_F(Output, AFolderIsWrittenAndReplaced) {
  const std::map<std::string, std::string> whole = {{"deep", ""},
                                                    {"deep/x", ""},
                                                    {"deep/x/a", "made by a test"},
                                                    {"deep/x/b", ""},
                                                    {"deep/x/b/c.txt", "new"}};
  write_pair(path_ / "deep" / "x");
  EXPECT_EQ(all(), whole);
  put(path_ / "deep" / "x" / "b" / "c.txt", "old");
  write_pair(path_ / "deep" / "x" / "");
  EXPECT_EQ(all(), whole);
  fs::remove_all(path_ / "deep" / "x");
  fs::create_directory(path_ / "deep" / "x");
  write_pair(path_ / "deep" / "x");
  EXPECT_EQ(all(), whole);
}

TEST_F(Output, AFolderWithOtherFilesStays) {
  const fs::path x = path_ / "x";
  const auto says = [&](const std::string& what) {
    EXPECT_NE(refusal_of_folder(x).find(what), std::string::npos) << refusal_of_folder(x);
  };
  write_pair(x);
  for (const char* other : {"thesis.tex", "b/d.txt", "b/c.txt.orig"}) {
    put(x / other, "mine");
    says("holds other files (" + std::string(other) + ")");
    fs::remove(x / other);
  }
  fs::create_directory(x / "data");
  says("(data)");
  fs::remove(x / "data");
  fs::remove(x / "b" / "c.txt");
  fs::create_symlink("/etc/passwd", x / "b" / "c.txt");  // a name of ours, and no file of ours
  says("(b/c.txt)");
  fs::remove(x / "b" / "c.txt");
  put(x / "a", "another program's");
  says("has no a of a pair");
  fs::remove(x / "a");
  says("has no a of a pair");
}

TEST_F(Output, NothingIsReachedThroughALinkInAFolder) {
  fs::create_directories(path_ / "mine");
  put(path_ / "mine" / "c.txt", "mine");
  write_pair(path_ / "x");
  fs::remove_all(path_ / "x" / "b");
  fs::create_directory_symlink("../mine", path_ / "x" / "b");
  EXPECT_NE(refusal_of_folder(path_ / "x").find("(b)"), std::string::npos);
}

TEST_F(Output, ALinkToAFolderStaysALink) {
  write_pair(path_ / "x");
  put(path_ / "x" / "b" / "c.txt", "old");
  fs::create_directory_symlink("x", path_ / "link");
  write_pair(path_ / "link");
  EXPECT_EQ(text_of(path_ / "x" / "b" / "c.txt"), "new");
  EXPECT_TRUE(fs::is_symlink(path_ / "link"));
}

TEST_F(Output, WhatIsNoFolderIsNamed) {
  put(path_ / "file", "mine");
  ASSERT_EQ(::mkfifo((path_ / "fifo").c_str(), 0600), 0);
  EXPECT_NE(refusal_of_folder(path_ / "file").find("is a file, where a folder was expected"),
            std::string::npos);
  EXPECT_NE(refusal_of_folder(path_ / "fifo").find("is a FIFO"), std::string::npos);
  EXPECT_NE(refusal_of_folder("/dev/null").find("is a device"), std::string::npos);
  EXPECT_NE(refusal_of_folder(path_ / "file" / "x").find("file"), std::string::npos);
}

TEST_F(Output, ANewFolderIsNewOrEmpty) {
  write_pair(path_ / "x", kNewFolder);
  EXPECT_NE(refusal_of_folder(path_ / "x", kNewFolder).find("another --out, new or empty"),
            std::string::npos);
}

TEST_F(Output, WhatIsNotKeptLeavesNothing) {
  write_pair(path_ / "x");
  const auto before = all();
  {
    const OutputFolder out(path_ / "x", kPair);
    write_file(out.path() / "a", "half");
  }
  EXPECT_EQ(all(), before);
  check_out_folder(path_ / "x", kPair);
  EXPECT_EQ(all(), before);
}

TEST_F(Output, WhatComesMeanwhileStaysToo) {
  OutputFolder out(path_ / "x", kPair);
  fs::create_directory(path_ / "x");
  put(path_ / "x" / "thesis.tex", "mine");
  put(out.path() / "a", "made by a test");
  const fs::path made = out.path();
  std::string said;
  try {
    out.keep();
  } catch (const InputError& error) {
    said = error.what();
  }
  EXPECT_NE(said.find("thesis.tex"), std::string::npos) << said;
  EXPECT_NE(said.find(made.string()), std::string::npos) << said;
  EXPECT_EQ(text_of(path_ / "x" / "thesis.tex"), "mine");
  EXPECT_EQ(text_of(made / "a"), "made by a test");
}

TEST_F(Output, TheWorkingFolderIsNotReplaced) {
  const fs::path before = fs::current_path();
  fs::current_path(path_);
  EXPECT_NE(refusal_of_folder(".").find("working folder"), std::string::npos);
  fs::current_path(before);
  write_pair(path_ / "x");
  fs::current_path(path_ / "x" / "b");
  EXPECT_NE(refusal_of_folder("..").find("working folder"), std::string::npos);
  fs::current_path(before);
}

TEST_F(Output, ARunsFolderHasItsMark) {
  check_run_folder(path_ / "new", "lines");
  fs::create_directory(path_ / "x");
  check_run_folder(path_ / "x", "lines");
  put(path_ / "x" / "thesis.tex", "mine");
  EXPECT_THROW(check_run_folder(path_ / "x", "lines"), InputError);
  put(path_ / "x" / "lines", "");
  check_run_folder(path_ / "x", "lines");
  EXPECT_THROW(check_run_folder("/dev/null", "lines"), InputError);
}

TEST_F(Output, OnlyTheBeginningOfALineIsCutOff) {
  EXPECT_TRUE(is_cut_line("", {"{\"id\""}));
  EXPECT_TRUE(is_cut_line("{\"i", {"{\"id\""}));
  EXPECT_TRUE(is_cut_line("{\"id\": 3, \"te", {"[", "{\"id\""}));
  EXPECT_FALSE(is_cut_line("precious", {"{\"id\""}));
  EXPECT_FALSE(is_cut_line("{\"ie", {"{\"id\""}));
}

}  // namespace
}  // namespace kw
