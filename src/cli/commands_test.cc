// The flags of the command line, and what it refuses before any work. No test starts a process.
#include "cli/commands.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

using Add = Command (*)(CLI::App&);

// A subcommand whose flags were parsed, as a shell splits them.
class Parsed {
 public:
  Parsed(Add add, const std::string& arguments) : command_(add(app_)) {
    app_.parse(arguments, false);
  }
  int run() const { return command_(); }

 private:
  CLI::App app_{"test"};
  Command command_;
};

// Returns the message of the InputError with which the command ends, or "" if it ends otherwise.
std::string refusal(Add add, const std::string& arguments) {
  try {
    Parsed(add, arguments).run();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_refused(Add add, const std::string& arguments, const std::string& words) {
  const std::string said = refusal(add, arguments);
  EXPECT_NE(said.find(words), std::string::npos) << arguments << ": \"" << said << '"';
}

void write_text_to(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class CommandLine : public testing::Test {
 protected:
  CommandLine() {
    write_text_to(
        model_,
        "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.relu(x)\n\ndef get_inputs():\n    return [torch.ones(4)]\n\n"
        "def get_init_inputs():\n    return []\n");
  }
  std::string model() const { return model_.string(); }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  const ScratchFolder folder_;
  const fs::path model_ = folder_.path() / "suite" / "model.py";
};

TEST_F(CommandLine, EveryCommandHasHelp) {
  for (Add add : {add_doctor, add_optimize, add_verify, add_record, add_eval, add_report,
                  add_collect, add_review, add_selftest, add_synth, add_train, add_recipe}) {
    EXPECT_THROW(Parsed(add, "--help"), CLI::CallForHelp);
    EXPECT_THROW(Parsed(add, "--no-such-flag"), CLI::ParseError);
  }
}

TEST_F(CommandLine, WhatIsRequiredIsAskedFor) {
  const std::pair<Add, const char*> rows[] = {
      {add_optimize, ""},   {add_record, ""},
      {add_eval, ""},       {add_report, ""},
      {add_collect, "run"}, {add_collect, "--out rows"},
      {add_review, "run"},  {add_review, "run --review-url http://localhost"},
      {add_recipe, ""},     {add_recipe, "export recipe.toml --to verl"},
  };
  for (const auto& [add, arguments] : rows) {
    EXPECT_THROW(Parsed(add, arguments), CLI::RequiredError) << arguments;
  }
  EXPECT_THROW(Parsed(add_report, "run --pair a=b"), CLI::RequiresError);  // --against
}

TEST_F(CommandLine, ValuesOutsideOfTheirRangeAreRefused) {
  const std::pair<Add, const char*> rows[] = {
      {add_optimize, "m.py --proposals 0"},
      {add_optimize, "m.py --coverage some"},
      {add_optimize, "m.py --backend gpu"},
      {add_optimize, "m.py --temperature 11"},
      {add_verify, "m.py c.py --trials 0"},
      {add_verify, "m.py c.py --trials 101"},
      {add_verify, "m.py c.py --tolerance none"},
      {add_verify, "m.py c.py --interval-width 1.5"},
      {add_verify, "m.py c.py --baseline fastest"},
      {add_verify, "m.py c.py --executors 65"},
      {add_record, "m.py --repeat 0"},
      {add_eval, "m.py --samples 0"},
      {add_eval, "m.py --samples 1001"},
      {add_eval, "m.py --explore 2"},
      {add_eval, "m.py --batch 0"},
      {add_eval, "m.py --build-timeout 0"},
      {add_collect, "run --out rows --answers 0"},
      {add_collect, "run --out rows --alike -0.5"},
      {add_review, "run --review-url u --review-model m --concurrency 0"},
      {add_selftest, "--part 0"},
      {add_synth, "--level 41"},
      {add_synth, "--count 0"},
      {add_synth, "--dtype float64"},
      {add_synth, "--split other"},
      {add_recipe, "export recipe.toml --to trl --out folder"},
  };
  for (const auto& [add, arguments] : rows) {
    EXPECT_THROW(Parsed(add, arguments), CLI::ValidationError) << arguments;
  }
}

TEST_F(CommandLine, FlagsThatContradictEachOtherAreRefused) {
  const std::pair<Add, const char*> rows[] = {
      {add_verify, "m.py c.py --baseline default --no-baseline"},
      {add_eval, "m.py --side-by-side --beside teacher"},
      {add_eval, "m.py --until-accepted --side-by-side"},
      {add_eval, "m.py --until-accepted --beside teacher"},
      {add_eval, "m.py --search 5s --beside teacher"},
      {add_eval, "m.py --search 5s --baseline"},
      {add_eval, "m.py --search 5s --until-accepted"},
      {add_synth, "--check a --augment b"},
      {add_synth, "--check a --stats b"},
      {add_synth, "--augment a --stats b"},
      {add_synth, "--only ReLU --operators all"},
  };
  for (const auto& [add, arguments] : rows) {
    EXPECT_THROW(Parsed(add, arguments), CLI::ExcludesError) << arguments;
  }
}

TEST_F(CommandLine, OptimizeRefusesABudgetThatIsNoTime) {
  for (const char* budget : {"0s", "5d", "soon", "-1m", "5 m"}) {
    expect_refused(add_optimize, model() + " --backend cpu --budget '" + budget + "'", "--budget");
  }
  expect_refused(add_optimize, in("missing.py") + " --backend cpu --out " + in("out"),
                 "missing.py");
  EXPECT_FALSE(fs::exists(in("out")));
}

TEST_F(CommandLine, OptimizeLeavesAFolderWithOtherFilesAlone) {
  write_text_to(in("out/notes.txt"), "mine");
  expect_refused(add_optimize, model() + " --backend cpu --out " + in("out"), "notes.txt");
  EXPECT_TRUE(fs::exists(in("out/notes.txt")));
}

TEST_F(CommandLine, VerifyWantsFilesOrABatch) {
  expect_refused(add_verify, "", "MODEL.py and CANDIDATE.py");
  expect_refused(add_verify, model(), "MODEL.py and CANDIDATE.py");
  expect_refused(add_verify, model() + " --batch file.jsonl", "is one too many");
  expect_refused(add_verify, "--batch file.jsonl --set N=3", "--set is for one model");
  expect_refused(add_verify, model() + " " + in("missing.py") + " --backend cpu", "missing.py");
}

TEST_F(CommandLine, EvalRefusesAWrongShard) {
  const std::string eval = model() + " --backend cpu --lines " + in("lines.jsonl") + " --shard ";
  for (const char* shard : {"0/4", "5/4", "1", "1/0", "a/b", "1/2/3"}) {
    expect_refused(add_eval, eval + shard, "--shard");
  }
  expect_refused(add_eval, model() + " --shard 1/2", "need --out FOLDER or --lines FILE");
  expect_refused(add_eval, model() + " --merge other.jsonl", "need --out FOLDER or --lines FILE");
  EXPECT_FALSE(fs::exists(in("lines.jsonl")));
}

TEST_F(CommandLine, EvalRefusesPoliciesThatAreNone) {
  const std::string eval = model() + " --backend cpu ";
  expect_refused(add_eval, eval + "--beside teacher@0", "samples are from 1 to 1000");
  expect_refused(add_eval, eval + "--beside teacher@1001", "samples are from 1 to 1000");
  expect_refused(add_eval, eval + "--beside @4", "expected a policy before the @");
  expect_refused(add_eval, eval + "--beside teacher", "is one of the policies already");
  expect_refused(add_eval, eval + "--beside " + in("missing"), "expected teacher, inductor");
  expect_refused(add_eval, eval + "--policy writer", "there is no policy \"writer\"");
  expect_refused(add_eval, eval + "--policy teacher,teacher", "twice");
  expect_refused(add_eval, eval + "--policy replay", "--answers");
  expect_refused(add_eval, eval + "--policy openai", "--policy-url");
  expect_refused(add_eval, eval + "--answers " + in("suite"), "--answers is for --policy replay");
  expect_refused(add_eval, eval + "--schedules " + in("missing"), "there is no such folder");
}

TEST_F(CommandLine, EvalRefusesWhatItCannotWriteOrFind) {
  const std::string suite = in("suite");
  expect_refused(add_eval, suite + " --backend cpu --out " + suite + "/run", "lies in");
  expect_refused(add_eval, suite + " --backend cpu --twins", "--twins");
  expect_refused(add_eval, suite + " --backend cpu --search never", "--search");
  expect_refused(add_eval, in("missing.py") + " --backend cpu", "missing.py");
  expect_refused(add_eval, suite + " --backend cpu --device abacus", "abacus");
}

TEST_F(CommandLine, RunsThatAreNoneAreRefused) {
  expect_refused(add_report, in("missing"), "missing");
  expect_refused(add_collect, in("missing") + " --out " + in("rows"), "missing");
  expect_refused(add_review, in("missing") + " --review-url u --review-model m", "missing");
  write_text_to(in("rows/rows.jsonl"), "{}\n");
  expect_refused(add_collect, "run --out " + in("rows"), "has rows already");
}

TEST_F(CommandLine, SynthWithoutHygieneWritesItsRows) {
  expect_refused(add_synth, "--level 1", "--out is required");
  expect_refused(add_synth, "--window 5 --out " + in("rows.jsonl"), "--window");
  expect_refused(add_synth, "--only Nonsense --out " + in("rows.jsonl"), "Nonsense");
  EXPECT_EQ(Parsed(add_synth, "--level 1 --count 3 --no-hygiene --out " + in("rows.jsonl")).run(),
            0);
  std::ifstream rows(in("rows.jsonl"));
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(rows), {}, '\n'), 3);
}

}  // namespace
}  // namespace kw
