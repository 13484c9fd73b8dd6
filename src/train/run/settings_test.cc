#include "train/run/settings.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw::train {
namespace {

struct Config {
  bool on = false;
  std::string name = "plain";
  int64_t steps = 10;
  double rate = 0.5;
  std::vector<int64_t> levels = {1};
  std::vector<std::string> words;
};

struct Described {
  Config config;
  Settings settings;
  Described() {
    settings.add("run.on", config.on, "whether");
    settings.add("run.name", config.name, "which", {"plain", "other"});
    settings.add("sft.steps", config.steps, "how many", 1, 100);
    settings.add("sft.rate", config.rate, "how fast", 0, 1);
    settings.add("data.levels", config.levels, "of which", 1, 20);
    settings.add("data.words", config.words, "from which", {"red", "blue"});
  }
  void read(const std::string& text) { settings.read(parse_toml(text, "r.toml"), "r.toml"); }
};

TEST(Settings, ReadsARecipeWithItsSources) {
  Described d;
  d.read(
      "[run]\non = true\nname = \"other\"\n[sft]\nsteps = 7\nrate = 1\n"
      "[data]\nlevels = [1, 5]\n"
      "[source]\n\"run.on\" = \"ours\"\n\"run.name\" = \"ours\"\n\"sft.steps\" = \"published\"\n"
      "\"sft.rate\" = \"reimplementation\"\n\"data.levels\" = \"ours\"\n");
  EXPECT_TRUE(d.config.on);
  EXPECT_EQ(d.config.name, "other");
  EXPECT_EQ(d.config.steps, 7);
  EXPECT_EQ(d.config.rate, 1);
  EXPECT_EQ(d.config.levels, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(d.settings.record().at("sft.steps"), 7);
  EXPECT_EQ(d.settings.sources().at("sft.steps"), "published");
  d.settings.set("sft.rate=2.5e-1");
  d.settings.set("run.name=plain");
  d.settings.set("data.levels=[2]");
  EXPECT_EQ(d.config.rate, 0.25);
  EXPECT_EQ(d.config.name, "plain");
  EXPECT_EQ(d.config.levels, std::vector<int64_t>{2});
  d.settings.set("data.words=[\"blue\"]");
  EXPECT_EQ(d.config.words, std::vector<std::string>{"blue"});
  EXPECT_THROW(d.settings.set("data.words=[\"green\"]"), InputError);
  EXPECT_THROW(d.settings.set("data.words=blue"), InputError);
  d.settings.set("data.words=[]");
  EXPECT_TRUE(d.config.words.empty());
  EXPECT_EQ(d.settings.sources().at("sft.rate"), "ours");
  const std::string help = d.settings.help();
  EXPECT_NE(help.find("sft.steps = 7\n    how many (a whole number from 1 to 100)"),
            std::string::npos)
      << help;
}

TEST(Settings, RefusesByLine) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"[sft]\nsteps = 0\n[source]\n\"sft.steps\" = \"ours\"\n",
       "r.toml:2: sft.steps is 0, expected a whole number from 1 to 100"},
      {"[sft]\nsteps = 1.5\n", "r.toml:2: sft.steps is 1.5"},
      {"[sft]\n\nstep = 1\n", "r.toml:3: there is no sft.step: is sft.steps meant?"},
      {"[sft]\nrate = nan\n", "sft.rate"},
      {"[run]\nname = \"third\"\n", "expected one of plain other"},
      {"[data]\nlevels = []\n", "data.levels"},
      {"[data]\nlevels = [1, 21]\n", "data.levels"},
      {"[sft]\nsteps = 5\nrate = 0.5\n[source]\n\"sft.steps\" = \"published\"\n",
       "lacks (as, perhaps, ours):\n\"sft.rate\" = \"ours\""},
      {"source = 3\n[sft]\nsteps = 5\n", "source is 3, not a table"},
      {"[sft]\nsteps = 5\n[source]\n\"sft.steps\" = \"mine\"\n", "expected published"},
      {"[source]\n\"sft.steps\" = \"ours\"\n", "which the recipe does not set"},
      {"[sft\n", "r.toml:1: "},
      {"[sft]\nsteps = 1979-05-27\n", "r.toml:2: sft.steps is a date"},
  };
  for (const auto& [text, says] : bad) {
    Described d;
    try {
      d.read(text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << text << error.what();
    }
  }
  Described d;
  d.read("[sft]\nsteps = 5\n");
  EXPECT_EQ(d.settings.sources().at("sft.steps"), "ours");
  EXPECT_THROW(d.settings.set("sft.steps"), InputError);
  EXPECT_THROW(d.settings.set("sft.steps=many"), InputError);
  EXPECT_THROW(d.settings.set("nothing=1"), InputError);
}

}  // namespace
}  // namespace kw::train
