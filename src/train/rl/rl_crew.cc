#include "train/rl/rl_crew.h"

#include <algorithm>
#include <cstdlib>

#include "train/step/placement.h"
#include "worker/jobs.h"

namespace kw::train {
namespace {

constexpr int kReviewSeconds = 120;  // for one opinion with its retries: a step waits for it

WorkerConfig recording_workers() {
  WorkerConfig out = default_worker_config();
  out.parallel = std::max(2, threads_of(0));
  return out;
}

ExecutorConfig executors_of(const RlConfig& config) {
  const bool gpu = placed(config.backend).device().is_cuda();
  ExecutorConfig out = default_executor_config(gpu ? "cuda" : "cpu");
  out.processes = static_cast<int>(config.executors);
  out.gpu = static_cast<int>(config.judge_gpu);
  return out;
}

VerifierJudgeOptions judge_options(const RlConfig& config) {
  return {.jobs = static_cast<int>(config.judge_jobs),
          .trials = static_cast<int>(config.trials),
          .time = config.time,
          .build_seconds = config.build_seconds,
          .trial_seconds = config.trial_seconds};
}

std::unique_ptr<Reviewer> make_reviewer(const RlConfig& config) {
  ChatOptions chat;
  chat.url = config.opinion_url;
  chat.model = config.opinion_model;
  chat.concurrency = static_cast<int>(config.opinion_concurrency);
  chat.timeout_seconds = kReviewSeconds;
  chat.flags = "judge.opinion";
  if (const char* key = std::getenv(config.opinion_key_env.c_str())) chat.key = key;
  return std::make_unique<Reviewer>(chat, make_socket_transport(), make_steady_clock());
}

}  // namespace

VerifyingCrew::Recording::Recording() : pool(recording_workers()) {
  thread.begin([this] { pool.start(); }).get();
}

VerifyingCrew::VerifyingCrew(const RlConfig& config)
    : only_fair_tasks_(config.hygiene),
      profile_(device_profile(config.target)),
      executor_(executors_of(config)),
      judge_(default_worker_config(), executor_, profile_, judge_options(config)),
      examiner_(recording_.pool, executor_, profile_) {
  executor_.hello();  // a GPU that is not there is no answer's fault
  if (config.opinion_url.empty()) return;
  reviewed_ = std::make_unique<ReviewedJudge>(judge_, make_reviewer(config),
                                              static_cast<int>(config.opinion_concurrency));
}

RlCrew VerifyingCrew::parts() {
  RlTaskSource::IsFair is_fair;
  if (only_fair_tasks_) {
    is_fair = [this](const Task& task, uint64_t seed) {
      return examiner_.examine(task, seed).flaw == Flaw::kNone;
    };
  }
  Judge& judge = reviewed_ ? static_cast<Judge&>(*reviewed_) : judge_;
  return {recording_.thread, recording_.pool, judge, is_fair};
}

}  // namespace kw::train
