#include "train/rl/rl_crew.h"

#include <cstdio>
#include <cstdlib>

#include "formats/base/error.h"
#include "train/step/placement.h"

namespace kw::train {
namespace {

constexpr int kReviewSeconds = 120;  // for one opinion with its retries: a step waits for it

SessionConfig processes_of(const RlConfig& config) {
  const bool gpu = placed(config.backend).device().is_cuda();
  SessionConfig out = default_session_config(device_profile(config.target), gpu ? "cuda" : "cpu");
  out.executor.processes = static_cast<int>(config.executors);
  out.executor.gpu = static_cast<int>(config.judge_gpu);
  return out;
}

// Null where there is nothing to run answers with, which is said once.
std::unique_ptr<Sanitizer> make_sanitizer(const RlConfig& config) {
  const ExecutorConfig executor = processes_of(config).executor;
  if (config.sanitized_share <= 0 || executor.backend != "cuda") return nullptr;
  try {
    return std::make_unique<Sanitizer>(executor);
  } catch (const InputError& error) {
    std::fprintf(stderr, "judge.sanitized_share: answers are not run under it: %s\n", error.what());
    return nullptr;
  }
}

VerifierJudgeOptions judge_options(const RlConfig& config, Sanitizer* sanitizer) {
  return {.jobs = static_cast<int>(config.judge_jobs),
          .trials = static_cast<int>(config.trials),
          .time = config.time,
          .build_seconds = config.build_seconds,
          .trial_seconds = config.trial_seconds,
          .sanitizer = sanitizer,
          .sanitized_share = config.sanitized_share};
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

VerifyingCrew::VerifyingCrew(const RlConfig& config)
    : only_fair_tasks_(config.hygiene),
      session_(processes_of(config)),
      sanitizer_(make_sanitizer(config)),
      judge_(default_worker_config(), session_.executor, session_.profile,
             judge_options(config, sanitizer_.get()), &session_.zygote),
      examiner_(session_.pool, session_.executor, session_.profile) {
  drawing_.begin([this] { session_.pool.start(); }).get();
  session_.executor.hello();  // a GPU that is not there is no answer's fault
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
  return {drawing_, session_.pool, judge, is_fair};
}

}  // namespace kw::train
