#include "train/verl/verl_settings.h"

#include <algorithm>
#include <filesystem>

#include "formats/base/error.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;
using C = RlConfig;

constexpr auto kConfig = VerlFate::kConfig;
constexpr auto kTasks = VerlFate::kTasks;
constexpr auto kReward = VerlFate::kReward;
constexpr auto kNoPlace = VerlFate::kNoPlace;

// Tokens of a chat model's instructions before a task's text: about 400, and more for tokenizers
// with few long words.
constexpr int64_t kInstructionTokens = 512;
constexpr double kNever = 1e9;  // a limit that never takes effect

// Returns the objectives that verl has, with its estimators of advantages.
const std::map<std::string, const char*>& estimators() {
  static const std::map<std::string, const char*> all = {
      {"grpo", "grpo"}, {"grpo_speed", "grpo"}, {"rloo", "rloo"}};
  return all;
}

// Returns the absolute path of a folder of this machine. Another text may be a name on a hub.
std::string model_path(const C& c) {
  if (c.init.empty()) return "???";  // OmegaConf then asks for a value
  return fs::is_directory(c.init) ? fs::canonical(c.init).string() : c.init;
}

bool has_curriculum(const C& c) { return c.one_by_one && c.levels.size() > 1; }

// Reasons why a setting has no place in verl.
constexpr char kFromModel[] = "verl begins with a model that is there: its shape is in its folder";
constexpr char kOfHierarchical[] = "of the objective hierarchical, which verl lacks";
constexpr char kOfDrpo[] = "of the objective drpo, which verl lacks";
constexpr char kNoCurriculum[] =
    "verl has no curriculum: tasks of all levels are mixed from the start";
constexpr char kNoOpinion[] = "reward.py asks no model for opinions";
constexpr char kOwnDeadlines[] = "eval, which rewards are from, has deadlines of its own";

// Returns a setting as verl's value.
template <auto Setting>
Json setting_value(const C& c) {
  return Json(c.*Setting);
}
template <auto Option>
Json objective_value(const C& c) {
  return Json(c.objective.*Option);
}

// Returns the tokens of a part of a batch: verl bounds parts by these, and a recipe by rows.
Json tokens_of_part(const C& c) { return Json(c.row * c.rows_at_once); }

// Returns the largest norm: 0 means no limit in a recipe, which verl lacks.
Json verl_clip_norm(const C& c) { return Json(c.clip_norm > 0 ? c.clip_norm : kNever); }

std::vector<VerlRow> run_rows() {
  return {
      {"run.kind", kNoPlace, "only recipes of kind rl are exported"},
      {"run.seed", kTasks, "the seed that tasks are drawn from"},
      {"run.seed", kConfig, "actor_rollout_ref.rollout.seed", setting_value<&C::seed>},
      {"run.device", kNoPlace, "verl trains on GPUs", nullptr,
       [](const C& c) { return c.device == "cpu"; }},
      {"run.target", kTasks, "the device that prompts name"},
      {"run.target", kReward, "eval --device"},
  };
}

std::vector<VerlRow> model_rows() {
  return {
      {"model.init", kConfig, "actor_rollout_ref.model.path",
       [](const C& c) { return Json(model_path(c)); }},
      {"model.tokenizer", kNoPlace, "verl reads the tokenizer of the model's folder", nullptr,
       [](const C& c) { return !c.tokenizer.empty(); }},
      {"model.lora_rank", kConfig, "actor_rollout_ref.model.lora_rank",
       setting_value<&C::lora_rank>},
      {"model.lora_alpha", kConfig, "actor_rollout_ref.model.lora_alpha",
       setting_value<&C::lora_alpha>},
      {"model.width", kNoPlace, kFromModel},
      {"model.layers", kNoPlace, kFromModel},
      {"model.heads", kNoPlace, kFromModel},
      {"model.kv_heads", kNoPlace, kFromModel},
      {"model.inner", kNoPlace, kFromModel},
      {"model.context", kNoPlace, kFromModel},
  };
}

std::vector<VerlRow> data_rows() {
  return {
      {"data.levels", kTasks, "operators of the tasks, each level as often"},
      {"data.operators", kTasks, "what they are made of"},
      {"data.log_low", kTasks, "windows of FLOPs, each as often"},
      {"data.log_high", kTasks, "windows of FLOPs, each as often"},
      {"data.threads", kNoPlace, "how this program draws"},
      {"data.log_elements", kTasks, "the largest tensor of a task"},
      {"data.tasks", kTasks, "how many there are"},
      {"data.hygiene", kTasks, "whether they are examined"},
      {"data.longest_prompt", kConfig, "data.max_prompt_length",
       [](const C& c) { return Json(c.longest_prompt + kInstructionTokens); }},
  };
}

std::vector<VerlRow> learning_rows() {
  return {
      {"rl.objective", kConfig, "algorithm.adv_estimator",
       [](const C& c) { return Json(estimators().at(c.objective.name)); }},
      {"rl.objective", kReward, "the formula of reward.py"},
      {"rl.advantage", kConfig, "algorithm.norm_adv_by_std_in_grpo",
       [](const C& c) { return Json(c.objective.advantage != "centred"); }},
      {"rl.clip_low", kConfig, "actor_rollout_ref.actor.clip_ratio_low",
       objective_value<&RlObjectiveOptions::clip_low>},
      {"rl.clip_high", kConfig, "actor_rollout_ref.actor.clip_ratio_high",
       objective_value<&RlObjectiveOptions::clip_high>},
      {"rl.kl_weight", kConfig, "actor_rollout_ref.actor.kl_loss_coef",
       objective_value<&RlObjectiveOptions::kl_weight>},
      {"rl.kl_weight", kConfig, "actor_rollout_ref.actor.use_kl_loss",
       [](const C& c) { return Json(c.objective.kl_weight > 0); }},
      {"rl.plan_weight", kNoPlace, kOfHierarchical},
      {"rl.most_speedup", kNoPlace, kOfHierarchical},
      {"rl.drpo_penalty", kNoPlace, kOfDrpo},
      {"rl.drpo_temperature", kNoPlace, kOfDrpo},
      {"rl.drpo_sharpness", kNoPlace, kOfDrpo},
      {"rl.drpo_allowed_kl", kNoPlace, kOfDrpo},
      {"rl.learn_from_all_right", kNoPlace, kOfDrpo},
      {"rl.steps", kConfig, "trainer.total_training_steps", setting_value<&C::steps>},
      // Epochs over the file of tasks: this many are always enough, as the steps end the run.
      {"rl.steps", kConfig, "trainer.total_epochs", setting_value<&C::steps>},
      {"rl.prompts", kConfig, "data.train_batch_size", setting_value<&C::prompts>},
      {"rl.answers", kConfig, "actor_rollout_ref.rollout.n", setting_value<&C::answers>},
      {"rl.prompts_per_update", kConfig, "actor_rollout_ref.actor.ppo_mini_batch_size",
       [](const C& c) {
         return Json(c.prompts_per_update > 0 ? std::min(c.prompts_per_update, c.prompts)
                                              : c.prompts);
       }},
      {"rl.epochs", kConfig, "actor_rollout_ref.actor.ppo_epochs", setting_value<&C::epochs>},
      {"rl.max_tokens", kConfig, "data.max_response_length", setting_value<&C::max_tokens>},
      {"rl.temperature", kConfig, "actor_rollout_ref.rollout.temperature",
       setting_value<&C::temperature>},
      {"rl.temperature", kConfig, "actor_rollout_ref.rollout.val_kwargs.temperature",
       setting_value<&C::temperature>},
      {"rl.rows", kConfig, "actor_rollout_ref.rollout.max_num_seqs", setting_value<&C::rows>},
      {"rl.row", kConfig, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu", tokens_of_part},
      {"rl.rows_at_once", kConfig, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
       tokens_of_part},
      {"rl.rate", kConfig, "actor_rollout_ref.actor.optim.lr", setting_value<&C::rate>},
      {"rl.last_share", kConfig, "actor_rollout_ref.actor.optim.lr_scheduler_type",
       [](const C& c) { return Json(c.last_share == 1 ? "constant" : "cosine"); }},
      {"rl.last_share", kConfig, "actor_rollout_ref.actor.optim.min_lr_ratio",
       setting_value<&C::last_share>},
      {"rl.warmup", kConfig, "actor_rollout_ref.actor.optim.lr_warmup_steps",
       setting_value<&C::warmup>},
      {"rl.decay", kConfig, "actor_rollout_ref.actor.optim.weight_decay", setting_value<&C::decay>},
      // The engine reads the second; the first is where other engines and older releases look.
      {"rl.clip_norm", kConfig, "actor_rollout_ref.actor.grad_clip", verl_clip_norm},
      {"rl.clip_norm", kConfig, "actor_rollout_ref.actor.optim.clip_grad", verl_clip_norm},
      {"rl.beta2", kConfig, "actor_rollout_ref.actor.optim.betas",
       [](const C& c) {
         return Json({0.9, c.beta2});
       }},
      {"rl.overlap", kNoPlace, "verl's synchronous trainer writes each batch by the newest model",
       nullptr, [](const C& c) { return c.overlap; }},
      {"rl.checkpoint_every", kConfig, "trainer.save_freq", setting_value<&C::checkpoint_every>},
  };
}

std::vector<VerlRow> judge_rows() {
  return {
      {"judge.backend", kReward, "eval --backend"},
      {"judge.jobs", kNoPlace, "eval builds answers on all cores"},
      {"judge.executors", kReward, "eval --executors"},
      {"judge.gpu", kNoPlace, "`environment` in reward.json names the GPU that eval sees"},
      {"judge.trials", kReward, "eval --trials"},
      {"judge.time", kReward, "eval --no-time, where it is false"},
      {"judge.build_seconds", kNoPlace, kOwnDeadlines},
      {"judge.trial_seconds", kNoPlace, kOwnDeadlines},
      {"judge.sanitized_share", kNoPlace, "eval runs nothing under compute-sanitizer"},
      {"judge.opinion_url", kNoPlace, kNoOpinion, nullptr,
       [](const C& c) { return !c.opinion_url.empty(); }},
      {"judge.opinion_model", kNoPlace, kNoOpinion},
      {"judge.opinion_key_env", kNoPlace, kNoOpinion},
      {"judge.opinion_concurrency", kNoPlace, kNoOpinion},
  };
}

std::vector<VerlRow> curriculum_rows() {
  return {
      {"curriculum.one_by_one", kNoPlace, kNoCurriculum, nullptr, has_curriculum},
      {"curriculum.earlier_share", kNoPlace, kNoCurriculum},
      {"curriculum.promote_at", kNoPlace, kNoCurriculum},
      {"curriculum.validation", kTasks, "how many held-out tasks there are, of all levels"},
      {"curriculum.validation", kConfig, "trainer.val_before_train",
       [](const C& c) { return Json(c.validation > 0); }},
      {"curriculum.evaluate_every", kConfig, "trainer.test_freq",
       [](const C& c) { return Json(c.validation > 0 ? c.evaluate_every : -1); }},
      {"curriculum.patience", kNoPlace, "verl learns to its last step", nullptr,
       [](const C& c) { return c.validation > 0 && c.patience > 0; }},
  };
}

// A value that comes from no recipe, and makes verl compute what objectives.h defines.
struct Fixed {
  const char* key;
  Json value;
  const char* why;
};
const std::vector<Fixed>& fixed() {
  static const std::vector<Fixed> all = {
      {"actor_rollout_ref.actor.clip_ratio_c", kNever, "ratios are clipped once"},
      {"actor_rollout_ref.actor.entropy_coeff", 0, "no bonus for entropy"},
      {"actor_rollout_ref.actor.kl_loss_type", "low_var_kl", "q/p - log(q/p) - 1"},
      {"actor_rollout_ref.actor.loss_agg_mode", "seq-mean-token-mean",
       "mean over answers of the mean over their tokens"},
      {"actor_rollout_ref.actor.shuffle", false, "updates take prompts in order"},
      {"actor_rollout_ref.actor.use_dynamic_bsz", true, "texts are packed"},
      {"actor_rollout_ref.model.use_remove_padding", true, "texts are packed"},
      {"actor_rollout_ref.model.target_modules", "all-linear", "what adapters are of"},
      {"actor_rollout_ref.rollout.do_sample", true, ""},
      {"actor_rollout_ref.rollout.name", "vllm", ""},
      {"actor_rollout_ref.rollout.top_k", -1, "no tail is cut off"},
      {"actor_rollout_ref.rollout.top_p", 1.0, "no tail is cut off"},
      {"actor_rollout_ref.rollout.val_kwargs.do_sample", true, "held-out tasks as others"},
      {"actor_rollout_ref.rollout.val_kwargs.n", 1, "one answer to each"},
      {"algorithm.use_kl_in_reward", false, "KL is of the loss"},
      {"data.filter_overlong_prompts", true, "longer ones are left out"},
      {"data.shuffle", false, "in the order drawn"},
      {"data.truncation", "error", ""},
      {"reward.num_workers", 1, "answers are judged together, by one verifier"},
      {"reward.reward_manager.name", "naive", ""},
      {"trainer.logger", Json::array({"console"}), ""},
      {"trainer.project_name", "kernelwright", ""},
  };
  return all;
}

}  // namespace

const std::vector<VerlRow>& verl_rows() {
  static const std::vector<VerlRow> rows = [] {
    std::vector<VerlRow> all;
    for (const auto& table : {run_rows(), model_rows(), data_rows(), learning_rows(), judge_rows(),
                              curriculum_rows()}) {
      all.insert(all.end(), table.begin(), table.end());
    }
    return all;
  }();
  return rows;
}

std::map<std::string, VerlValue> verl_config(const RlConfig& config) {
  std::map<std::string, VerlValue> out;
  for (const Fixed& each : fixed()) out[each.key] = {each.value, {}, each.why};
  for (const VerlRow& row : verl_rows()) {
    if (row.fate != kConfig) continue;
    VerlValue& to = out[row.verl];
    to.value = row.value(config);
    to.keys.emplace_back(row.key);
  }
  return out;
}

void check_verl_has(const std::string& objective) {
  if (estimators().contains(objective)) return;
  std::string known;
  for (const auto& [name, estimator] : estimators()) known += (known.empty() ? "" : ", ") + name;
  throw InputError("rl.objective is " + objective + ", which verl does not have; it has " + known +
                   ". --set rl.objective=NAME exports another one in its place");
}

}  // namespace kw::train
