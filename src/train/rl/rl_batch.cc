#include "train/rl/rl_batch.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "synth/skeleton/random.h"
#include "train/step/streams.h"

namespace kw::train {
namespace {

constexpr size_t kLongestReason = 60;

const Judgement& judgement(const RlBatch& batch, size_t task, size_t answer) {
  return batch.report.judgements.at(task * batch.answers + answer);
}

void add(BatchSummary& out, const Generation& made, const Judgement& found, int level,
         const RlObjectiveOptions& options, double& log_speedups) {
  ++out.answers;
  out.tokens += static_cast<int64_t>(made.tokens.size());
  out.cut_off += made.end == Generation::End::kLength;
  if (!found.reason.empty()) ++out.reasons[kind_of_reason(found.stage, found.reason)];
  if (!found.judged) {
    ++out.not_judged;
    return;
  }
  auto& [right, judged] = out.by_level[level];
  ++judged;
  right += found.judged->correct;
  out.valid += found.judged->valid;
  out.correct += found.judged->correct;
  out.reward += reward_of(*found.judged, options);
  if (found.judged->correct) {
    log_speedups += std::log(std::max(found.judged->speedup, 1e-9));
    out.right_programs.insert(found.program);
  }
  if (!found.stage.empty()) ++out.stages[found.stage];
}

}  // namespace

uint64_t answer_seed(uint64_t run_seed, int64_t step, size_t prompt, size_t answer) {
  const uint64_t of_step = Random(run_seed, static_cast<uint64_t>(step), kSampleStream).bits();
  return Random(of_step, prompt, answer).bits();
}

std::vector<GenerationRequest> requests_of(const std::vector<RlTask>& tasks,
                                           const SamplingOptions& options, uint64_t run_seed,
                                           int64_t step) {
  std::vector<GenerationRequest> out;
  for (size_t p = 0; p < tasks.size(); ++p) {
    for (int64_t a = 0; a < options.answers; ++a) {
      GenerationRequest& request = out.emplace_back();
      request.prompt = tasks[p].prompt;
      request.max_tokens = options.max_tokens;
      request.temperature = options.temperature;
      request.seed = answer_seed(run_seed, step, p, static_cast<size_t>(a));
    }
  }
  return out;
}

std::vector<AnswerToJudge> answers_of(const RlBatch& batch) {
  std::vector<AnswerToJudge> out;
  for (size_t i = 0; i < batch.made.size(); ++i) {
    const Generation& made = batch.made[i];
    out.push_back(
        {batch.tasks[i / batch.answers].task, made.text, made.end == Generation::End::kLength});
  }
  return out;
}

std::vector<SampledGroup> groups_of(const RlBatch& batch, const AnswerFormat& format) {
  std::vector<SampledGroup> out;
  for (size_t t = 0; t < batch.tasks.size(); ++t) {
    SampledGroup group;
    for (size_t a = 0; a < batch.answers; ++a) {
      const Judgement& found = judgement(batch, t, a);
      if (!found.judged) continue;
      const Generation& made = batch.made[t * batch.answers + a];
      Sampled& sampled = group.emplace_back();
      sampled.text.tokens = batch.tasks[t].prompt;
      sampled.text.answer = sampled.text.tokens.size();
      sampled.text.tokens.insert(sampled.text.tokens.end(), made.tokens.begin(), made.tokens.end());
      sampled.log_p = made.log_p;
      sampled.is_plan = format.is_plan(made.tokens);
      sampled.judged = *found.judged;
    }
    if (!group.empty()) out.push_back(std::move(group));
  }
  return out;
}

BatchSummary summarise(const RlBatch& batch, const RlObjectiveOptions& options) {
  BatchSummary out;
  double log_speedups = 0;
  for (size_t t = 0; t < batch.tasks.size(); ++t) {
    size_t right = 0, other = 0;
    for (size_t a = 0; a < batch.answers; ++a) {
      const Judgement& found = judgement(batch, t, a);
      add(out, batch.made[t * batch.answers + a], found, batch.tasks[t].level, options,
          log_speedups);
      if (found.judged) ++(found.judged->correct ? right : other);
    }
    out.mixed += right > 0 && other > 0;
  }
  out.distinct = batch.report.distinct;
  if (out.correct > 0) out.speedup = std::exp(log_speedups / out.correct);
  const auto judged = static_cast<double>(std::max<int64_t>(1, out.answers - out.not_judged));
  for (double* mean : {&out.reward, &out.valid, &out.correct}) *mean /= judged;
  out.mixed /= static_cast<double>(std::max<size_t>(1, batch.tasks.size()));
  return out;
}

namespace {

// Returns an error of Python or Triton that a reason names, such as "NameError", or nothing.
std::string error_in(const std::string& reason) {
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  constexpr std::string_view kError = "Error";
  for (size_t at = reason.find(kError); at != std::string::npos; at = reason.find(kError, at + 1)) {
    const size_t end = at + kError.size();
    if (end < reason.size() && is_name(reason[end])) continue;
    size_t begin = at;
    while (begin > 0 && is_name(reason[begin - 1])) --begin;
    return reason.substr(begin, end - begin);
  }
  return "";
}

}  // namespace

std::string kind_of_reason(const std::string& stage, const std::string& reason) {
  std::string kind;
  const size_t open = reason.rfind(" [");
  if (open != std::string::npos && reason.ends_with(']')) {
    const std::string error = error_in(reason);
    kind = error + (error.empty() ? "" : " ") + reason.substr(open + 1);
  } else {
    for (const char c : reason.substr(0, reason.find_first_of(":(\"'"))) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit) kind += c;
      if (digit && !kind.ends_with('#')) kind += '#';
    }
    kind = kind.substr(0, kLongestReason);
  }
  return (stage.empty() ? "not judged" : stage) + ": " + kind;
}

}  // namespace kw::train
