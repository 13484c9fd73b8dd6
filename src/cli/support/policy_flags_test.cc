// Who writes kernels, by the flags that say so. No test starts a process.
#include "cli/support/policy_flags.h"

#include <gtest/gtest.h>

#include <optional>

#include "cli/support/common.h"
#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

PolicyFlags parsed_policy(const std::string& arguments) {
  PolicyFlags flags;
  CLI::App app("test");
  flags.add_to(app);
  app.parse(arguments, false);
  return flags;
}

TEST(PolicyFlags, TheTeacherIsAskedUnlessOthersAre) {
  EXPECT_EQ(parsed_policy("").policy, "teacher");
  EXPECT_EQ(parsed_policy("").label(), "teacher");
  EXPECT_EQ(parsed_policy("--policy local --model some/folder").label(), "some/folder");
  EXPECT_EQ(parsed_policy("--policy local,teacher --model some/folder").label(), "local,teacher");
}

TEST(PolicyFlags, AFlagThatNoPolicyUsesIsRefused) {
  const std::pair<const char*, const char*> rows[] = {{"--model folder", "local"},
                                                      {"--answers folder", "replay"},
                                                      {"--policy-url url", "openai"},
                                                      {"--policy-model name", "openai"}};
  for (const auto& [flag, policy] : rows) {
    const PolicyFlags unused = parsed_policy(flag);
    EXPECT_THROW(unused.refuse_unused(), InputError) << flag;
    const PolicyFlags used = parsed_policy(std::string("--policy teacher,") + policy + " " + flag);
    EXPECT_NO_THROW(used.refuse_unused()) << flag;
    EXPECT_NO_THROW(unused.refuse_unused({used})) << flag;  // another policy uses it
  }
}

TEST(PolicyFlags, TheSameFlagsAskAnotherPolicy) {
  const ScratchFolder folder;
  const PolicyFlags flags = parsed_policy("--policy openai --max-tokens 77");
  const PolicyFlags other = flags.with(folder.path().string());
  EXPECT_EQ(other.policy, "local");
  EXPECT_EQ(other.label(), folder.path().string());
  EXPECT_EQ(other.openai.max_tokens, 77);
  EXPECT_EQ(flags.with("inductor").label(), "inductor");
  EXPECT_THROW(flags.with("openai"), InputError);
}

TEST(PolicyFlags, CostsAreALineForPeople) {
  EXPECT_EQ(costs_text("teacher", nullptr), "");
  const std::string text = costs_text("model", {{"requests", 3}, {"cost", 0.25}});
  EXPECT_NE(text.find("requests 3"), std::string::npos) << text;
  EXPECT_NE(text.find("cost 0.25"), std::string::npos) << text;
}

TEST(ParseSeconds, TimesHaveAUnitOrNone) {
  EXPECT_EQ(parse_seconds("--budget", "90"), 90);
  EXPECT_EQ(parse_seconds("--budget", "60s"), 60);
  EXPECT_EQ(parse_seconds("--budget", "1.5m"), 90);
  EXPECT_EQ(parse_seconds("--budget", "2h"), 7200);
  for (const char* wrong : {"", "s", "0", "-5s", "5x", "5sm", "nan"}) {
    EXPECT_THROW(parse_seconds("--budget", wrong), InputError) << wrong;
  }
}

TEST(JudgingSeed, NoneIsSecretAndZeroIsASeed) {
  const auto parsed = [](const std::string& arguments) {
    std::optional<uint64_t> seed;
    CLI::App app("test");
    add_judging_seed_flag(app, seed);
    app.parse(arguments, false);
    return seed;
  };
  EXPECT_EQ(seed_or_secret(parsed("--seed 0")), 0u);
  EXPECT_EQ(seed_or_secret(parsed("--seed 18446744073709551615")), UINT64_MAX);
  EXPECT_FALSE(parsed(""));
  EXPECT_NE(seed_or_secret(parsed("")), seed_or_secret(parsed("")));
  EXPECT_THROW(parsed("--seed -1"), CLI::ValidationError);
}

TEST(MachineFlags, TheDeviceIsTheOneNamed) {
  MachineFlags flags;
  CLI::App app("test");
  flags.add_to(app);
  app.parse("--backend cpu --device a100 --set N=4 --set M=5", false);
  EXPECT_EQ(flags.chosen_backend(), "cpu");
  EXPECT_EQ(flags.profile().name, device_profile("a100").name);
  EXPECT_EQ(flags.set, (std::vector<std::string>{"N=4", "M=5"}));
  EXPECT_TRUE(schedule_table("none", flags.profile(), "cuda").fingerprint().empty());
}

}  // namespace
}  // namespace kw
