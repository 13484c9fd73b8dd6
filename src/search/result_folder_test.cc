#include "search/result_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.insert(entry.path().filename());
  return out;
}

TEST(ResultFolder, ReplacesAnEarlierResultAndNothingElse) {
  const ScratchFolder scratch;
  const fs::path out = scratch.path() / "deep" / "out";
  const std::set<std::string> whole = {"bundle", "optimized.py", "report.html", "verdict.json"};
  OptimizeResult result;
  result.python = "first";
  prepare_result_folder(out, "model.py");
  EXPECT_FALSE(fs::exists(out));
  write_result(result, "page", out);
  EXPECT_EQ(names_in(out), whole);
  fs::create_directory(out / "__pycache__");  // as an import leaves it
  std::ofstream(out / "__pycache__" / "optimized.cpython-312.pyc") << "code";
  result.python = "second, and longer";
  prepare_result_folder(out, "model.py");
  write_result(result, "page", out);
  EXPECT_EQ(names_in(out), whole);
  EXPECT_EQ(fs::file_size(out / "optimized.py"), result.python.size());
  for (const char* other : {"notes.txt", "bundle/notes.txt", "bundle/kernels/notes.py"}) {
    std::ofstream(out / other) << "mine";
    EXPECT_THROW(prepare_result_folder(out, "model.py"), InputError) << other;
    EXPECT_THROW(write_result(result, "page", out), InputError) << other;
    EXPECT_EQ(fs::file_size(out / other), 4u);
    fs::remove(out / other);
  }
  EXPECT_EQ(names_in(out.parent_path()), std::set<std::string>{"out"});
}

}  // namespace
}  // namespace kw
