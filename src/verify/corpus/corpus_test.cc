#include "verify/corpus/corpus.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

const std::string kHead =
    "# program wrong | family: decoy | mechanism: a | b | stage: correct | check: noop\n";
const std::string kAttack =
    "# program wrong | family: decoy | mechanism: nothing is stored | stage: correct | check: "
    "noop\n"
    "# %% reference\nclass Model: pass\n"
    "# %% candidate\nclass ModelNew: pass\n\nx = 1\n"
    "# %% twin\nclass ModelNew: ...\n";

TEST(CorpusCase, HasItsPartsAtTheLinesOfTheFile) {
  const CorpusCase test = parse_corpus_case("a.py", kAttack);
  EXPECT_TRUE(test.program_wrong);
  EXPECT_EQ(test.family, "decoy");
  EXPECT_EQ(test.mechanism, "nothing is stored");
  EXPECT_EQ(test.stage, Stage::kCorrect);
  EXPECT_EQ(names_of(test.checks), "noop");
  EXPECT_FALSE(test.pure || test.needs_gpu || test.known_fault);
  EXPECT_EQ(test.reference, "\n\nclass Model: pass\n");
  EXPECT_EQ(test.candidate, "\n\n\n\nclass ModelNew: pass\n\nx = 1\n");
  EXPECT_EQ(test.twin, "\n\n\n\n\n\n\n\nclass ModelNew: ...\n");
}

TEST(CorpusCase, OptionsAreRead) {
  const CorpusCase test = parse_corpus_case(
      "a.py",
      "# honest | family: f | mechanism: m: with a colon | mode: pure | judge: gpu | expect: "
      "rejected\n# %% candidate\n# %% reference\n# %% note\n# why\n");
  EXPECT_FALSE(test.program_wrong);
  EXPECT_EQ(test.mechanism, "m: with a colon");
  EXPECT_TRUE(test.pure && test.needs_gpu && test.known_fault);
  EXPECT_FALSE(test.needs_cpu);
}

TEST(CorpusCase, SeveralChecksMayCatchIt) {
  const auto with = [](const std::string& check) {
    std::string text = kAttack;
    return parse_corpus_case("a.py", text.replace(text.find("noop"), 4, check));
  };
  const CorpusCase both = with("share+noop");
  EXPECT_EQ(names_of(both.checks), "share+noop");
  EXPECT_TRUE(both.can_be_unchecked());
  EXPECT_FALSE(both.timed());
  EXPECT_FALSE(with("slice").can_be_unchecked());
  EXPECT_FALSE(with("outputs+slice").can_be_unchecked());
  EXPECT_TRUE(with("timed outputs").timed());
}

// Text and what the message must say.
TEST(CorpusCase, FaultsAreNamedWithTheirLine) {
  const std::string honest = "# honest | family: f | mechanism: m\n";
  const std::pair<std::string, std::string> faults[] = {
      {"", "a.py:1: the first line"},
      {"import torch\n", "a.py:1: the first line"},
      {"# harmless | family: f | mechanism: m\n", "a.py:1: the label is `program wrong`"},
      {"# honest | family: f\n", "a.py:1: expected a family and a mechanism"},
      {"# honest | family: f | mechanism: m | family: g\n", "a.py:1: two values for family"},
      {"# honest | family: f | mechanism: m | color: red\n", "a.py:1: unknown field color"},
      {"# honest | family: f | mechanism: m | stage: time\n", "a.py:1: unknown field stage"},
      {"# honest | family: f | mechanism: m | judge: tpu\n", "a.py:1: judge: tpu"},
      {"# honest | family: f | oops\n", "a.py:1: expected `name: value`: oops"},
      {kHead, "a.py:1: expected `name: value`: b"},
      {"# program wrong | family: f | mechanism: m | stage: lunch | check: noop\n",
       "no stage 'lunch'"},
      {"# program wrong | family: f | mechanism: m | stage: time | check: mate\n",
       "no check 'mate'"},
      {"# program wrong | family: f | mechanism: m | stage: time\n", "no check ''"},
      {"# program wrong | family: f | mechanism: m | stage: time | check: noop+mate\n",
       "check 'mate'"},
      {honest + "# %% reference\n", "there is no part `# %% candidate`"},
      {honest + "# %% twin\n", "a.py:2: no part of a case"},
      {honest + "# %% reference\n# %% reference\n", "a.py:3: no part of a case"},
      {honest + "\nx = 1\n", "a.py:3: text before the first part"},
  };
  for (const auto& [text, message] : faults) {
    try {
      parse_corpus_case("a.py", text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

TEST(Corpus, IsReadFromFoldersInOrder) {
  TestFolder folder;
  const std::filesystem::path root = folder.path();
  std::filesystem::create_directories(root / "b");
  for (const char* name : {"c.py", "b/a.py", "a.py"}) std::ofstream(root / name) << kAttack;
  std::ofstream(root / "readme.txt") << "no case";
  std::vector<std::string> names;
  for (const CorpusCase& test : read_corpus({root})) names.push_back(test.path.filename());
  EXPECT_EQ(names, (std::vector<std::string>{"a.py", "a.py", "c.py"}));
  EXPECT_EQ(read_corpus({root / "c.py"}).size(), 1u);
  EXPECT_THROW(read_corpus({root / "none"}), InputError);
}

TEST(Checks, HaveNamesOfTheirOwn) {
  for (const Check& check : checks()) EXPECT_EQ(find_check(check.name), &check);
  EXPECT_EQ(find_check("no such check"), nullptr);
}

}  // namespace
}  // namespace kw
