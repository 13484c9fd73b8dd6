// Results of a batch as lines: what they say of exports that were recorded again.
#include "verify/batch/batch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "verify/batch/batch_file.h"

namespace kw {
namespace {

BatchItem item(const std::string& id) {
  BatchItem out;
  out.id = id;
  out.candidate.text = "candidate " + id;
  return out;
}

TEST(BatchItems, DependOnTheModulesThatTheyMayImport) {
  BatchItem with = item("a");
  const std::string before = with.digest();
  with.candidate.modules = "one";
  const std::string one = with.digest();
  with.candidate.modules = "two";
  EXPECT_NE(one, before);
  EXPECT_NE(with.digest(), one);
  with.candidate.modules = "";
  with.reference.modules = "one";
  EXPECT_NE(with.digest(), before);
}

}  // namespace
}  // namespace kw
