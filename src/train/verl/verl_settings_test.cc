// The table is whole, and its values are those of objectives.h in verl's words.
#include "train/verl/verl_settings.h"

#include <gtest/gtest.h>

#include <set>

#include "formats/base/error.h"

namespace kw::train {
namespace {

Json value_of(const RlConfig& config, const std::string& key) {
  return verl_config(config).at(key).value;
}

TEST(VerlSettings, EachOfASettingsKeysHasARow) {
  RlConfig config;
  Settings settings;
  describe(settings, config);
  std::set<std::string> known, rows;
  const Json record = settings.record();
  for (const auto& [key, value] : record.items()) known.insert(key);
  for (const VerlRow& row : verl_rows()) {
    rows.insert(row.key);
    EXPECT_EQ(row.value != nullptr, row.fate == VerlFate::kConfig) << row.key;
    EXPECT_TRUE(!row.differs || row.fate == VerlFate::kNoPlace) << row.key;
  }
  EXPECT_EQ(known, rows);
}

TEST(VerlSettings, NoneHasBothAPlaceAndNone) {
  std::set<std::string> placed, without;
  for (const VerlRow& row : verl_rows()) {
    (row.fate == VerlFate::kNoPlace ? without : placed).insert(row.key);
  }
  for (const std::string& key : without) EXPECT_FALSE(placed.contains(key)) << key;
}

TEST(VerlSettings, SayWhatObjectivesSay) {
  RlConfig config;
  EXPECT_EQ(value_of(config, "algorithm.adv_estimator"), "grpo");
  EXPECT_EQ(value_of(config, "algorithm.norm_adv_by_std_in_grpo"), true);
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.use_kl_loss"), false);
  config.objective.advantage = "centred";
  config.objective.kl_weight = 0.25;
  EXPECT_EQ(value_of(config, "algorithm.norm_adv_by_std_in_grpo"), false);
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.use_kl_loss"), true);
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.kl_loss_coef"), 0.25);
  config.objective.name = "grpo_speed";
  EXPECT_EQ(value_of(config, "algorithm.adv_estimator"), "grpo");
  config.objective.name = "rloo";
  EXPECT_EQ(value_of(config, "algorithm.adv_estimator"), "rloo");
}

TEST(VerlSettings, TurnWhatHasAnotherMeaning) {
  RlConfig config;
  config.prompts = 32;
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.ppo_mini_batch_size"), 32);
  config.prompts_per_update = 8;
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.ppo_mini_batch_size"), 8);
  config.prompts_per_update = 64;  // more than there are
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.ppo_mini_batch_size"), 32);
  config.clip_norm = 0;  // never, which verl would cut all gradients to
  EXPECT_GE(value_of(config, "actor_rollout_ref.actor.optim.clip_grad").get<double>(), 1e6);
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.optim.lr_scheduler_type"), "constant");
  config.last_share = 0.1;
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.optim.lr_scheduler_type"), "cosine");
  EXPECT_EQ(value_of(config, "actor_rollout_ref.actor.optim.min_lr_ratio"), 0.1);
  EXPECT_EQ(value_of(config, "trainer.test_freq"), 20);
  config.validation = 0;
  EXPECT_EQ(value_of(config, "trainer.test_freq"), -1);
  EXPECT_EQ(value_of(config, "trainer.val_before_train"), false);
  EXPECT_EQ(value_of(config, "actor_rollout_ref.model.path"), "???");
  config.init = "Qwen/Qwen3-8B";  // no folder here
  EXPECT_EQ(value_of(config, "actor_rollout_ref.model.path"), "Qwen/Qwen3-8B");
}

TEST(VerlSettings, RefuseObjectivesThatVerlLacks) {
  for (const std::string& name : objective_names()) {
    if (name == "grpo" || name == "grpo_speed" || name == "rloo") {
      EXPECT_NO_THROW(check_verl_has(name));
      continue;
    }
    try {
      check_verl_has(name);
      ADD_FAILURE() << name;
    } catch (const InputError& error) {
      const std::string said = error.what();
      EXPECT_NE(said.find(name), std::string::npos) << said;
      EXPECT_NE(said.find("grpo, grpo_speed, rloo"), std::string::npos) << said;
    }
  }
}

}  // namespace
}  // namespace kw::train
