// The teacher's texts, character by character: one fragment of every kind of operator, with the
// first proposal of each family. Language models were trained on these texts, so that a change of
// one shows here. tests/vectors/teacher/fragments.jsonl has the tasks, NAME.expected the texts.
//
// After a change that is meant to change texts, run the test with KW_WRITE_GOLDEN=1 and review the
// difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "formats/base/read_file.h"
#include "policy/test_fragment.h"
#include "program/task_json.h"
#include "teacher/teacher.h"

namespace kw::teacher {
namespace {

const std::string kVectors = KW_SOURCE_DIR "/tests/vectors/teacher/";

// The first proposal of each family among the first eight.
std::string golden_text(const Task& task) {
  std::string out;
  std::set<std::string> families;
  for (const Proposal& p :
       make_teacher()->propose(task, device_profile("h200"), 8, 0, kNoDeadline)) {
    if (!families.insert(p.family).second) continue;
    out += "==== " + p.family + "\n" + p.plan + "\n" + p.source;
  }
  return out;
}

TEST(Golden, TextsOfEveryFamilyAreTheExpectedOnes) {
  std::ifstream fragments(kVectors + "fragments.jsonl");
  size_t count = 0;
  for (std::string line; std::getline(fragments, line); ++count) {
    const Json row = parse_json(line, "fragments.jsonl");
    const std::string name = row.at("name").get<std::string>();
    const Task task = task_from_json(JsonReader(row.at("task"), "task"), nullptr);
    const std::string path = kVectors + name + ".expected";
    const std::string text = golden_text(task);
    if (std::getenv("KW_WRITE_GOLDEN")) std::ofstream(path) << text;
    EXPECT_EQ(text, read_file(path)) << name;
  }
  EXPECT_GE(count, 40u);
}

}  // namespace
}  // namespace kw::teacher
