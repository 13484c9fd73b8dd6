// Every recipe that the project has is one that can be run.
#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "train/tools/run.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

TEST(Recipes, AreWhatARunUnderstands) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(KW_SOURCE_DIR "/recipes")) {
    EXPECT_EQ(entry.path().extension(), ".toml") << entry.path();
    EXPECT_NO_THROW(check_recipe(entry.path())) << entry.path();
    EXPECT_NE(read_file(entry.path()).find("\n[source]\n"), std::string::npos) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 10);
}

class RecipeFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(base_); }
  void TearDown() override { fs::remove_all(base_); }
  fs::path write(const std::string& text) const {
    std::ofstream(base_ / "recipe.toml") << text;
    return base_ / "recipe.toml";
  }
  const fs::path base_ = fs::path(testing::TempDir()) / "kw-recipes";
};

TEST_F(RecipeFiles, OfAKindHaveTheKeysOfThatKind) {
  check_recipe(write("[sft]\nsteps = 3\n[source]\n\"sft.steps\" = \"ours\"\n"));
  check_recipe(
      write("[run]\nkind = \"rl\"\n[rl]\nsteps = 3\n"
            "[source]\n\"run.kind\" = \"ours\"\n\"rl.steps\" = \"ours\"\n"));
  EXPECT_THROW(check_recipe(write("[run]\nkind = \"rl\"\n[sft]\nsteps = 3\n[source]\n"
                                  "\"run.kind\" = \"ours\"\n\"sft.steps\" = \"ours\"\n")),
               InputError);
  EXPECT_THROW(check_recipe(write("[run]\nkind = \"dpo\"\n[source]\n\"run.kind\" = \"ours\"\n")),
               InputError);
  EXPECT_THROW(check_recipe(write("[run]\nkind = 3\n[source]\n\"run.kind\" = \"ours\"\n")),
               InputError);
  // DRPO with one update of a batch.
  EXPECT_THROW(check_recipe(write("[run]\nkind = \"rl\"\n[rl]\nobjective = \"drpo\"\n[source]\n"
                                  "\"run.kind\" = \"ours\"\n\"rl.objective\" = \"ours\"\n")),
               InputError);
  // A row longer than the context of the model that the recipe makes.
  const std::string row = "[sft]\nrow = 2048\n[source]\n\"sft.row\" = \"ours\"\n";
  const std::string context = "\"model.context\" = \"ours\"\n[model]\ncontext = ";
  check_recipe(write(row + context + "2048\n"));
  EXPECT_THROW(check_recipe(write(row + context + "1024\n")), InputError);
  EXPECT_THROW(check_recipe(base_ / "none.toml"), InputError);
}

TEST(SettingsHelp, IsOfBothKinds) {
  for (const std::string key : {"run.kind", "model.init", "data.levels"}) {
    EXPECT_NE(settings_help("sft").find(key + " = "), std::string::npos);
    EXPECT_NE(settings_help("rl").find(key + " = "), std::string::npos);
  }
  EXPECT_NE(settings_help("rl").find("rl.objective = \"grpo\""), std::string::npos);
  EXPECT_THROW(settings_help("dpo"), InputError);
}

}  // namespace
}  // namespace kw::train
