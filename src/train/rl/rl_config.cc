#include "train/rl/rl_config.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "formats/base/error.h"

namespace kw::train {
namespace {

constexpr double kLot = 1e9;

void describe_objective(Settings& s, RlObjectiveOptions& c) {
  s.add("rl.objective", c.name, "what is minimised", objective_names());
  s.add("rl.advantage", c.advantage,
        "how rewards of a group become advantages; auto: as the objective has it",
        {"auto", "standardised", "centred"});
  s.add("rl.clip_low", c.clip_low, "ratios of probabilities count down to 1 less this", 0, 1);
  s.add("rl.clip_high", c.clip_high, "and up to 1 and this", 0, kLot);
  s.add("rl.kl_weight", c.kl_weight, "of the distance to the model that the run began with", 0,
        kLot);
  s.add("rl.plan_weight", c.plan_weight, "of plans beside code (hierarchical)", 0, kLot);
  s.add("rl.most_speedup", c.most_speedup, "that is rewarded (hierarchical)", 0, kLot);
  s.add("rl.drpo_penalty", c.drpo.penalty, "of KL beyond what is allowed (drpo)", 0, kLot);
  s.add("rl.drpo_temperature", c.drpo.temperature, "of the wrong answers' mean (drpo)", 1e-3, kLot);
  s.add("rl.drpo_sharpness", c.drpo.sharpness, "of the right answers' weights by speed (drpo)",
        1e-6, kLot);
  s.add("rl.drpo_allowed_kl", c.drpo.allowed_kl, "to the model that sampled (drpo)", 0, kLot);
  s.add("rl.learn_from_all_right", c.drpo.learn_from_all_right,
        "groups that are all right teach speed (drpo)");
}

void describe_steps(Settings& s, RlConfig& c) {
  s.add("rl.steps", c.steps, "batches", 1);
  s.add("rl.prompts", c.prompts, "of a batch", 1, 1 << 20);
  s.add("rl.answers", c.answers, "to a prompt", 1, 1 << 16);
  s.add("rl.prompts_per_update", c.prompts_per_update, "0: the whole batch", 0, 1 << 20);
  s.add("rl.epochs", c.epochs, "times that a batch is learned from", 1, 1000);
  s.add("rl.max_tokens", c.max_tokens, "of an answer", 1, 1 << 20);
  s.add("rl.temperature", c.temperature, "that answers are sampled at", 0.01, 100);
  s.add("rl.rows", c.rows, "answers that are written at once, as memory allows", 1, 1 << 16);
  s.add("rl.row", c.row, "places that texts are packed into for an update", 16);
  s.add("rl.rows_at_once", c.rows_at_once, "of a part of an update, as memory allows", 1);
  s.add("rl.rate", c.rate, "learning rate after the warm-up", 0, 1);
  s.add("rl.last_share", c.last_share, "of the rate at the end", 0, 1);
  s.add("rl.warmup", c.warmup, "batches of rising rate", 0);
  s.add("rl.decay", c.decay, "of weights", 0, kLot);
  s.add("rl.clip_norm", c.clip_norm, "norm that gradients are cut to; 0: never", 0, kLot);
  s.add("rl.beta2", c.beta2, "of Adam", 0, 0.999999);
  s.add("rl.overlap", c.overlap,
        "the next batch is written while one is judged, by a model that is one update older; "
        "without, a run that was stopped goes on exactly");
  s.add("rl.checkpoint_every", c.checkpoint_every, "batches between checkpoints", 1);
}

}  // namespace

void describe(Settings& s, RlConfig& c) {
  describe(s, static_cast<RunConfig&>(c));
  s.add("data.log_elements", c.log_elements,
        "elements of a tensor, at most 2 to this; of all of a program four times as many", 5, 30);
  s.add("data.tasks", c.tasks, "programs that are gone over again and again; 0: ever new ones", 0);
  s.add("data.hygiene", c.hygiene, "tasks that are no fair ones are left out");
  s.add("data.longest_prompt", c.longest_prompt, "tokens; longer ones are left out", 1, 1 << 20);
  describe_objective(s, c.objective);
  describe_steps(s, c);
  s.add("judge.backend", c.backend, "where answers are tried; cuda: and timed",
        {"auto", "cpu", "cuda"});
  s.add("judge.jobs", c.judge_jobs, "answers that are built at once; 0: one for each core", 0,
        4096);
  s.add("judge.executors", c.executors,
        "processes whose trials run side by side; what is timed has the device alone", 1, 64);
  s.add(
      "judge.gpu", c.judge_gpu,
      "number of the GPU that answers are tried on, so that the model has its own; -1: the model's",
      -1, 63);
  s.add("judge.trials", c.trials, "fresh input sets of an answer; 0: as verify has it", 0, 100);
  s.add("judge.time", c.time, "right answers are timed, on a GPU");
  s.add("judge.build_seconds", c.build_seconds, "that recording or compiling an answer may take",
        0.1, 3600);
  s.add("judge.trial_seconds", c.trial_seconds, "that a trial of an answer may take", 0.1, 3600);
  s.add("judge.sanitized_share", c.sanitized_share,
        "of right answers, run once more under compute-sanitizer, on a GPU; findings reject them",
        0, 1);
  s.add("judge.opinion_url", c.opinion_url,
        "of an OpenAI-compatible endpoint whose model is asked about right answers; those that it "
        "calls no kernel of their own are not valid (docs/review.md)");
  s.add("judge.opinion_model", c.opinion_model, "the model's name there");
  s.add("judge.opinion_key_env", c.opinion_key_env, "environment variable that holds the key");
  s.add("judge.opinion_concurrency", c.opinion_concurrency, "questions under way at once", 1, 1024);
  s.add("curriculum.one_by_one", c.one_by_one,
        "levels are learned in order; without, all of them from the start");
  s.add("curriculum.earlier_share", c.earlier_share, "of tasks, of earlier levels", 0, 1);
  s.add("curriculum.promote_at", c.promote_at,
        "lower bound of pass@1 on held-out tasks, behind which the next level comes", 0, 1);
  s.add("curriculum.validation", c.validation, "held-out tasks of a level; 0: none", 0, 1 << 20);
  s.add("curriculum.evaluate_every", c.evaluate_every, "batches between evaluations", 1);
  s.add("curriculum.patience", c.patience,
        "evaluations without a higher bound, then the run ends; 0: never", 0);
}

int64_t RlConfig::updates_per_step() const {
  const int64_t each = prompts_per_update > 0 ? prompts_per_update : prompts;
  return (prompts + each - 1) / each * epochs;
}

void check(const RlConfig& config) {
  check(static_cast<const RunConfig&>(config));
  make_objective(config.objective);
  if (config.longest_prompt + config.max_tokens > config.row) {
    throw InputError("rl.row is " + std::to_string(config.row) +
                     ", too few for data.longest_prompt and rl.max_tokens, " +
                     std::to_string(config.longest_prompt + config.max_tokens));
  }
  if (needs_two_updates(config.objective.name) && config.updates_per_step() < 2) {
    throw InputError(config.objective.name +
                     " needs two updates of a batch or more, as nothing holds the first one back: "
                     "set rl.prompts_per_update or rl.epochs");
  }
  if (config.opinion_url.empty() != config.opinion_model.empty()) {
    throw InputError("judge.opinion_url and judge.opinion_model are given together, or neither");
  }
  const std::vector<int64_t>& levels = config.levels;
  if (std::ranges::adjacent_find(levels, std::greater_equal<>()) != levels.end()) {
    throw InputError("data.levels must rise");
  }
}

ProgramOptions task_programs(const RlConfig& config, Split split) {
  ProgramOptions out = program_options(config, split);
  for (DimsLimits& window : out.limits) {
    window.tensor = std::exp2(config.log_elements);
    window.total = 4 * window.tensor;
  }
  return out;
}

CurriculumOptions curriculum_options(const RlConfig& config) {
  CurriculumOptions out;
  out.levels.assign(config.levels.begin(), config.levels.end());
  out.one_by_one = config.one_by_one;
  out.earlier_share = config.earlier_share;
  out.promote_at = config.promote_at;
  out.patience = config.patience;
  return out;
}

}  // namespace kw::train
